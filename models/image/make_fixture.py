"""Write fixtures/: one small picture from a fixed noise, for other pipelines to compare with.

    python make_fixture.py

All arrays are raw little-endian float32, the picture is raw uint8; case.json has their shapes.
"""
import json
from pathlib import Path

import numpy as np

from reference import Pipeline

OUT = Path(__file__).parent / "fixtures"


def main():
    prompt, negative, width, height, steps, guidance = "a red circle on a blue background", "", 128, 64, 4, 7.5
    pipe = Pipeline()
    noise = pipe.noise(1234, width, height)
    latents = pipe.denoise(noise, prompt, negative, steps, guidance)
    plain = pipe.denoise(noise, prompt, negative, steps, 1.0)
    rgb = pipe.decode(latents, width, height)
    odd = pipe.decode(latents, 104, 56)
    ids = [pipe.tokenizer.encode(t).ids for t in (negative, prompt)]
    OUT.mkdir(exist_ok=True)
    for name, value in (("noise", noise), ("latents", latents), ("latents_guidance_1", plain)):
        (OUT / f"{name}.f32").write_bytes(value.astype("<f4").tobytes())
    (OUT / "picture.rgb").write_bytes(rgb.tobytes())
    (OUT / "picture_104x56.rgb").write_bytes(odd.tobytes())
    (OUT / "case.json").write_text(json.dumps({
        "prompt": prompt, "negative_prompt": negative, "width": width, "height": height,
        "num_inference_steps": steps, "guidance_scale": guidance, "timesteps": pipe.timesteps(steps).tolist(),
        "timesteps_50": pipe.timesteps(50).tolist(), "input_ids": ids,
        "alphas_cumprod": {str(t): float(pipe.alphas[t]) for t in (0, 249, 499, 749, 999)},
        "latent_shape": list(noise.shape), "picture_shape": list(rgb.shape), "odd_picture_shape": list(odd.shape),
        "files": {"noise": "noise.f32", "latents": "latents.f32", "latents_guidance_1": "latents_guidance_1.f32",
                  "picture": "picture.rgb", "odd_picture": "picture_104x56.rgb"}}, indent=2) + "\n")


if __name__ == "__main__":
    main()
