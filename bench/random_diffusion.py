"""Stable Diffusion 1.5 of random weights, as large as the real one: for measuring, not for looking at.

    python bench/random_diffusion.py graphs FOLDER    # needs test/backends/onnx/parity/requirements.txt
    python bench/random_diffusion.py half FOLDER TO   # the same in half precision
    python bench/random_diffusion.py weights FOLDER   # needs numpy and onnx

`graphs` has diffusers make the model and Optimum export it, and throws the weights away: a few megabytes
stay, which can be carried where the second step is to run. `weights` writes random ones in their place.
"""
import argparse
import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper

PARTS = ["text_encoder", "unet", "vae_decoder"]
PARITY = Path(__file__).parent.parent / "test/backends/onnx/parity"


def externals(model):
    return [t for t in external_data_helper._get_all_tensors(model) if external_data_helper.uses_external_data(t)]


def end_of(tensor):
    info = external_data_helper.ExternalDataInfo(tensor)
    return (info.offset or 0) + info.length


def graphs(folder):
    sys.path.insert(0, str(PARITY))
    import models
    import torch
    from diffusers import AutoencoderKL, PNDMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from optimum.exporters.onnx import main_export
    from transformers import CLIPTextConfig, CLIPTextModel

    models.LENGTH = 77
    with tempfile.TemporaryDirectory() as work:
        tokens = models.tokenizer(Path(work) / "words")
        text = CLIPTextConfig(
            vocab_size=49408, hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12,
            max_position_embeddings=77, bos_token_id=len(tokens) - 2, eos_token_id=len(tokens) - 1,
            pad_token_id=len(tokens) - 1)
        torch.manual_seed(15)
        StableDiffusionPipeline(
            vae=AutoencoderKL(
                block_out_channels=(128, 256, 512, 512), down_block_types=("DownEncoderBlock2D",) * 4,
                up_block_types=("UpDecoderBlock2D",) * 4, latent_channels=4, layers_per_block=2, sample_size=512),
            unet=UNet2DConditionModel(sample_size=64, cross_attention_dim=768),  # the defaults are those of 1.x
            text_encoder=CLIPTextModel(text), tokenizer=tokens,
            scheduler=PNDMScheduler(**models.BETAS, skip_prk_steps=True, steps_offset=1, set_alpha_to_one=False),
            safety_checker=None, feature_extractor=None, requires_safety_checker=False,
        ).save_pretrained(f"{work}/torch")
        exported = Path(work) / "onnx"
        main_export(f"{work}/torch", str(exported), task="text-to-image")
        for part in PARTS:
            path = exported / part / "model.onnx"
            model = onnx.load(path)
            for file in path.parent.glob("model.onnx*"):
                file.unlink()
            onnx.save(model, path, save_as_external_data=True, location="weights")
            (path.parent / "weights").unlink()
        folder.mkdir(parents=True, exist_ok=True)
        for path in exported.rglob("*"):
            if path.is_file() and "vae_encoder" not in path.parts:
                to = folder / path.relative_to(exported)
                to.parent.mkdir(parents=True, exist_ok=True)
                path.replace(to)


def half(folder, out):
    from onnxruntime.transformers import float16

    convert = float16.convert_tensor_float_to_float16

    def convert_external(tensor, *bounds):
        was = tensor.data_type
        convert(tensor, *bounds)
        for entry in tensor.external_data:
            if entry.key == "length" and tensor.data_type != was:
                entry.value = str(int(entry.value) // 2)
        return tensor

    float16.convert_tensor_float_to_float16 = convert_external  # which knows nothing of weights beside the file
    shutil.copytree(folder, out)
    for part in PARTS:
        path = out / part / "model.onnx"
        model = onnx.load(path, load_external_data=False)
        weights = path.parent / "weights"
        with open(weights, "wb") as file:  # The converter looks at them: zeros without blocks on the disk.
            file.truncate(max(end_of(tensor) for tensor in externals(model)))
        with contextlib.chdir(path.parent):
            model = float16.convert_float_to_float16(model, keep_io_types=True)
        weights.unlink()
        onnx.save(model, path)


def weights(folder):
    rng = np.random.default_rng(0)
    for part in PARTS:
        path = folder / part / "model.onnx"
        model = onnx.load(path, load_external_data=False)
        with open(path.parent / "weights", "wb") as file:
            for tensor in externals(model):
                dtype = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16}.get(tensor.data_type)
                if dtype is None:
                    raise SystemExit(f"{path}: {tensor.name} is of type {tensor.data_type}")
                dims = list(tensor.dims)
                count = int(np.prod(dims))
                if sum(d > 1 for d in dims) < 2:
                    values = np.full(count, 0.5, dtype)  # norms and biases
                else:
                    fan = int(np.prod(dims[1:])) if len(dims) == 4 else dims[0]
                    values = (rng.random(count, np.float32) * 2 - 1) * fan**-0.5
                file.seek(external_data_helper.ExternalDataInfo(tensor).offset or 0)
                file.write(values.astype(dtype).tobytes())


parser = argparse.ArgumentParser()
steps = parser.add_subparsers(required=True)
for step, arguments in [(graphs, ["folder"]), (half, ["folder", "out"]), (weights, ["folder"])]:
    command = steps.add_parser(step.__name__)
    command.set_defaults(step=step)
    for argument in arguments:
        command.add_argument(argument, type=Path)
given = vars(parser.parse_args())
given.pop("step")(**given)
