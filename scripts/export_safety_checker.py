"""Adds the safety checker of a diffusers model to its ONNX export, which optimum leaves out.

    python scripts/export_safety_checker.py <diffusers model, folder or hub name> <folder of the export>

Writes safety_checker/model.onnx, with the inputs `clip_input` float32 [batch, 3, 224, 224] and
`images` float32 [batch, height, width, 3] (0 to 1) and the outputs `out_images` and
`has_nsfw_concepts` bool [batch]; and feature_extractor/preprocessor_config.json.
"""
import sys
from pathlib import Path

import torch
from diffusers.pipelines.stable_diffusion import StableDiffusionSafetyChecker
from transformers import CLIPImageProcessor


def export(model, folder):
    checker = StableDiffusionSafetyChecker.from_pretrained(model, subfolder="safety_checker").eval()
    processor = CLIPImageProcessor.from_pretrained(model, subfolder="feature_extractor")
    # The form for ONNX has no branches, and says the same.
    checker.forward = checker.forward_onnx
    out = Path(folder) / "safety_checker"
    out.mkdir(parents=True, exist_ok=True)
    side = checker.config.vision_config.image_size
    torch.onnx.export(
        checker, (torch.randn(2, 3, side, side), torch.rand(2, 32, 32, 3)), str(out / "model.onnx"),
        input_names=["clip_input", "images"], output_names=["out_images", "has_nsfw_concepts"],
        dynamic_axes={"clip_input": {0: "batch"}, "images": {0: "batch", 1: "height", 2: "width"}},
        opset_version=18, dynamo=False, do_constant_folding=True)
    checker.config.save_pretrained(out)
    processor.save_pretrained(Path(folder) / "feature_extractor")


if __name__ == "__main__":
    export(sys.argv[1], sys.argv[2])
