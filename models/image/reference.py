"""The pipeline in numpy over the exported files: what every other pipeline has to agree with.

    python reference.py "a red circle on a blue background" --out picture.png --seed 1

DDIM with eta 0 as diffusers runs it, classifier-free guidance with the unconditional half first.
"""
import argparse
import json
from pathlib import Path

import numpy as np
import onnxruntime as ort
from PIL import Image

HERE = Path(__file__).parent


def with_lora(path, lora, weight):
    """The bytes of an ONNX file whose weights W have become W + weight * B A."""
    import onnx
    from safetensors.numpy import load_file
    model, low = onnx.load(path), load_file(lora)
    for w in model.graph.initializer:
        module = "unet." + w.name.removesuffix(".weight")
        if f"{module}.lora_A.weight" in low:
            a, b = (low[f"{module}.lora_{k}.weight"].astype(np.float32) for k in "AB")
            value = onnx.numpy_helper.to_array(w)
            delta = (b.reshape(len(b), -1) @ a.reshape(len(a), -1)).reshape(value.shape)
            w.CopyFrom(onnx.numpy_helper.from_array((value + weight * delta).astype(value.dtype), w.name))
    return model.SerializeToString()


class Pipeline:
    """lora: a safetensors file in diffusers' naming, with the weight to add it with."""

    def __init__(self, folder=HERE / "lintel-image", threads=1, lora=None, weight=1.0):
        from tokenizers import Tokenizer
        folder = Path(folder)
        opts = ort.SessionOptions()
        opts.intra_op_num_threads = threads
        load = lambda model: ort.InferenceSession(model, opts, providers=["CPUExecutionProvider"])
        files = {n: str(folder / n / "model.onnx") for n in ("text_encoder", "unet", "vae_decoder")}
        if lora is not None:
            files["unet"] = with_lora(files["unet"], lora, weight)
        self.text, self.unet, self.vae = (load(f) for f in files.values())
        read = lambda n: json.loads((folder / n).read_text())
        self.schedule = read("scheduler/scheduler_config.json")
        self.vae_config = read("vae_decoder/config.json")
        self.factor = 2 ** (len(self.vae_config["block_out_channels"]) - 1)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer/tokenizer.json"))
        c = self.schedule
        betas = np.linspace(c["beta_start"] ** 0.5, c["beta_end"] ** 0.5, c["num_train_timesteps"]) ** 2
        self.alphas = np.cumprod(1 - betas)

    def encode(self, prompts):
        """list of B texts to [B, 40, D]."""
        ids = np.array([e.ids for e in self.tokenizer.encode_batch(prompts)], np.int64)
        return self.text.run(None, {"input_ids": ids})[0]

    def timesteps(self, steps):
        """trailing: 999 first."""
        n = self.schedule["num_train_timesteps"]
        return np.round(np.arange(n, 0, -n / steps)).astype(np.int64) - 1

    def denoise(self, latents, prompt, negative="", steps=50, guidance=7.5):
        """latents [B, C, h, w], noise of variance 1, to the latents of B pictures of one prompt."""
        x, b = latents.astype(np.float32), len(latents)
        guided = guidance > 1
        states = self.encode([negative, prompt] if guided else [prompt])
        states = np.repeat(states, b, 0)
        ts = self.timesteps(steps)
        gap = self.schedule["num_train_timesteps"] // steps
        for t in ts:
            two = np.concatenate([x, x]) if guided else x
            v = self.unet.run(None, {"sample": two, "timestep": np.array([t], np.int64),
                                     "encoder_hidden_states": states})[0]
            if guided:
                v = v[:b] + guidance * (v[b:] - v[:b])
            a = self.alphas[t]
            before = self.alphas[t - gap] if t - gap >= 0 else 1.0
            clean = a ** 0.5 * x - (1 - a) ** 0.5 * v
            noise = a ** 0.5 * v + (1 - a) ** 0.5 * x
            x = (before ** 0.5 * clean + (1 - before) ** 0.5 * noise).astype(np.float32)
        return x

    def decode(self, latents, width, height):
        """latents [B, C, h, w] to uint8 [B, height, width, 3], cropped around the centre."""
        y = self.vae.run(None, {"latent_sample": latents / np.float32(self.vae_config["scaling_factor"])})[0]
        top, left = (y.shape[2] - height) // 2, (y.shape[3] - width) // 2
        y = y[:, :, top:top + height, left:left + width].transpose(0, 2, 3, 1)
        return np.round(np.clip(y / 2 + 0.5, 0, 1) * 255).astype(np.uint8)

    def noise(self, seed, width, height, count=1):
        h, w = (-(-v // self.factor) for v in (height, width))
        shape = (count, self.vae_config["latent_channels"], h, w)
        return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)

    def __call__(self, prompt, width=1024, height=576, seed=0, count=1, **how):
        return self.decode(self.denoise(self.noise(seed, width, height, count), prompt, **how), width, height)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("prompt")
    ap.add_argument("--out", default="picture.png")
    ap.add_argument("--negative", default="")
    for name, value in (("width", 1024), ("height", 576), ("seed", 0), ("steps", 50)):
        ap.add_argument(f"--{name}", type=int, default=value)
    ap.add_argument("--guidance", type=float, default=7.5)
    ap.add_argument("--lora", help="a file such as lintel-image/loras/pastel.safetensors")
    ap.add_argument("--lora-weight", type=float, default=1)
    a = ap.parse_args()
    picture = Pipeline(lora=a.lora, weight=a.lora_weight)(a.prompt, a.width, a.height, a.seed, negative=a.negative, steps=a.steps,
                         guidance=a.guidance)[0]
    Image.fromarray(picture).save(a.out)


if __name__ == "__main__":
    main()
