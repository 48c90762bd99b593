"""Writes what the parity tests of the image engine compare with.

    python -m venv .venv && .venv/bin/pip install -r requirements.txt
    .venv/bin/python make.py          (writes models/ and expected.json, expected.f32.gz, expected.rgb.gz)
    .venv/bin/python make.py --check  (writes nothing; fails if diffusers now gives something else)

Tiny random-weight models (models.py) go through optimum's exporter as real ones do; diffusers itself,
in PyTorch, makes the latents and pictures of cases.py from the noise that src/backends/onnx/noise.ts
makes of the same seed.
"""
import argparse
import gzip
import importlib
import json
import logging
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import diffusers  # noqa: E402
from optimum.exporters.onnx import main_export  # noqa: E402

import loras  # noqa: E402
import safety  # noqa: E402
from cases import CASES  # noqa: E402
from models import LAYOUTS, lively  # noqa: E402
from noise import Noise  # noqa: E402

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[3] / "scripts"))
from export_safety_checker import export as export_checker  # noqa: E402

# Parts that sd15 has too: stored there only.
SHARED = {"turbo": ["vae_decoder"], "lcm": ["vae_decoder", "text_encoder", "tokenizer"]}


def strip(path, external=False):
    """Without shapes of what is between, which nobody reads; fields in a fixed order."""
    m = onnx.load(path)
    del m.graph.value_info[:]
    data = path.name + "_data"
    for old in path.parent.glob("*_data"):
        old.unlink()
    onnx.save(m, path, save_as_external_data=external, location=data, size_threshold=64)


def pack(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix in (".onnx", ".onnx_data", ".safetensors"):
        packed = target.with_name(target.name + ".gz")
        packed.write_bytes(gzip.compress(source.read_bytes(), 9, mtime=0))
    else:
        shutil.copy(source, target)


def write_models(pipes, work):
    out = HERE / "models"
    shutil.rmtree(out, ignore_errors=True)
    for name, pipe in pipes.items():
        torch_folder, folder = work / name / "torch", work / name / "onnx"
        pipe.save_pretrained(torch_folder)
        main_export(str(torch_folder), str(folder), task="text-to-image")
        shutil.rmtree(folder / "vae_encoder")
        if getattr(pipe, "safety_checker", None):
            export_checker(torch_folder, folder)
        loras.write(name, pipe, folder / "loras")
        for path in folder.rglob("*.onnx"):
            # As exports above 2 GB are: the weights in a file beside.
            strip(path, external=name == "sdxl" and path.parent.name == "unet")
        for path in sorted(folder.rglob("*")):
            part = path.relative_to(folder)
            if path.is_file() and part.parts[0] not in SHARED.get(name, []):
                text = path.read_text().replace(str(torch_folder), name) if path.suffix == ".json" else None
                if text is not None:
                    path.write_text(text)
                pack(path, out / name / part)


def run(pipe, case, folder):
    scheduler = pipe.scheduler
    cls = getattr(diffusers, case["scheduler"]) if case["scheduler"] else type(scheduler)
    # Settings of another class stay out, but for those of the noise.
    kept = scheduler.config if cls is type(scheduler) else {
        k: scheduler.config[k] for k in ("beta_start", "beta_end", "beta_schedule", "steps_offset")}
    if cls is diffusers.DDIMScheduler:
        kept = {**kept, "clip_sample": False, "set_alpha_to_one": False}
    pipe.scheduler = cls.from_config({**kept, **case["config"]})
    noise = Noise(case["seed"])
    module = importlib.import_module(cls.__module__)
    if hasattr(module, "randn_tensor"):
        module.randn_tensor = lambda shape, **_: torch.from_numpy(noise(tuple(shape)))
    shape = (1, 4, case["height"] // 2, case["width"] // 2)
    texts = [t.strip() for t in case["prompt"].split("|")]
    against = [t.strip() for t in case["negative"].split("|")]
    more = {}
    if len(texts) > 1:
        more = dict(prompt_2=texts[1], negative_prompt_2=against[1])
    if not isinstance(pipe, diffusers.LatentConsistencyModelPipeline):
        more["negative_prompt"] = against[0] or None
    pipe.set_progress_bar_config(disable=True)
    fused = list(case["loras"])
    for name in fused:
        pipe.load_lora_weights(folder / "loras", weight_name=f"{name}.safetensors", adapter_name=name)
    if fused:
        # Weights are set apart only where there are some: that forgets about rank-stabilised scaling.
        if any(weight != 1 for weight in case["loras"].values()):
            pipe.set_adapters(fused, list(case["loras"].values()))
        pipe.fuse_lora(adapter_names=fused)
    with torch.no_grad():
        latents = pipe(texts[0], height=case["height"], width=case["width"], output_type="latent",
                       num_inference_steps=case["steps"], guidance_scale=case["guidance"],
                       latents=torch.from_numpy(noise(shape)), **more).images
        picture = pipe.vae.decode(latents / pipe.vae.config.scaling_factor).sample
        picture = pipe.image_processor.postprocess(picture, output_type="np")[0]
    if fused:
        pipe.unfuse_lora()
        pipe.unload_lora_weights()
    config = json.loads(pipe.scheduler.to_json_string().replace("-Infinity", '"-Infinity"'))
    pipe.scheduler = scheduler
    return latents[0].numpy(), np.round(picture * 255).astype(np.uint8), config


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--check", action="store_true")
    check = ap.parse_args().check
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        pipes = {name: make(work / name) for name, make in LAYOUTS.items()}
        if check:
            for name, pipe in pipes.items():
                loras.write(name, pipe, work / name / "onnx/loras")
        else:
            write_models(pipes, work)
        latents, pictures, stated = [], [], []
        for case in CASES:
            z, picture, config = run(pipes[case["layout"]], case, work / case["layout"] / "onnx")
            print(f"{case['name']}: latents to {np.abs(z).max():.2f}", flush=True)
            assert np.isfinite(z).all(), "not finite"
            latents.append(z.ravel())
            pictures.append(picture.ravel())
            stated.append({**case, "config": config if case["scheduler"] else None, "numbers": z.size})
        checked = safety.expected(pipes["sd15"])
    z, rgb = np.concatenate(latents).astype("<f4"), np.concatenate(pictures)
    files = HERE / "expected.f32.gz", HERE / "expected.rgb.gz"
    if check:
        known = np.frombuffer(gzip.decompress(files[0].read_bytes()), "<f4")
        apart = np.abs(known - z).max() / np.abs(z).max()
        print(f"{len(CASES)} cases, {apart:.1e} apart from what is stored")
        sys.exit(0 if apart < 1e-3 else 1)
    files[0].write_bytes(gzip.compress(z.tobytes(), 9, mtime=0))
    files[1].write_bytes(gzip.compress(rgb.tobytes(), 9, mtime=0))
    lines = lambda rows: ",\n".join(json.dumps(row) for row in rows)
    (HERE / "expected.json").write_text(
        f'{{"cases": [\n{lines(stated)}\n],\n"safety": [\n{lines(checked)}\n]}}\n')


if __name__ == "__main__":
    main()
