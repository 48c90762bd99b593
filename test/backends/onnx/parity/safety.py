"""What the safety checker says to some pictures."""
import numpy as np
import torch
from PIL import Image

SIZES = [(24, 16), (16, 24), (64, 64), (100, 37), (28, 28)]


def picture(i, width, height):
    """uint8 [height, width, 3]; safety.test draws the same."""
    y, x = np.mgrid[0:height, 0:width]
    bands = [(x * (3 + i) + y * 5) % 256, (x * y + 40 * i) % 256, (255 - x * 2 + y * (i + 1)) % 256]
    return np.stack(bands, -1).astype(np.uint8)


def expected(pipe):
    rows = []
    for i, (width, height) in enumerate(SIZES * 4):
        rgb = picture(i, width, height)
        clip = pipe.feature_extractor([Image.fromarray(rgb)], return_tensors="pt").pixel_values
        with torch.no_grad():
            pooled = pipe.safety_checker.vision_model(clip)[1]
            embeds = pipe.safety_checker.visual_projection(pooled)
            _, nsfw = pipe.safety_checker(images=[rgb.astype(np.float32) / 255], clip_input=clip)
        rows.append({"width": width, "height": height, "nsfw": bool(nsfw[0]),
                     "pixels": [round(float(v), 6) for v in clip.numpy().ravel()[::97]],
                     "embeds": [round(float(v), 5) for v in embeds[0]]})
    return rows
