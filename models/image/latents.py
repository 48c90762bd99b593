"""The latent space: what one cell of 32x32 pixels holds, and how a scene is written in it.

Nine channels, each of about mean 0 and variance 1 over training pictures:
 0     how far the nearest edge is: the signed distance to the things, saturated by tanh
 1, 2  how that changes within the cell, to the right and downwards
 3-5   red, green, blue of what lies behind
 6-8   red, green, blue of the nearest thing

Because our own code draws the pictures, it can write their latents down as well, so no encoder is
needed; `vae.Decoder` learns to paint the picture from them. Distances and colours change slowly
and do not depend on each other, which is what makes them easy to learn for a small UNet.
"""
import numpy as np

import scenes

FACTOR = 32
CHANNELS = 9
REACH = 48.0  # pixels over which the distance saturates
MEAN = np.array([0.8, 0, 0, 0.18, 0.03, 0, 0.18, 0.03, 0], np.float32)[:, None, None]
STD = np.array([0.5, 0.05, 0.05, 0.68, 0.58, 0.65, 0.68, 0.58, 0.65], np.float32)[:, None, None]


def draw(scene, width, height, box=None):
    """float32 [9, h, w] of a whole scene, or of box (x, y, w, h in cells) of it. Sizes in pixels."""
    cx, cy, w, h = box or (0, 0, -(-width // FACTOR), -(-height // FACTOR))
    side = min(width, height)
    px = ((np.arange(2 * w, dtype=np.float32) + 0.5) / 2 + cx) * FACTOR
    py = ((np.arange(2 * h, dtype=np.float32) + 0.5) / 2 + cy) * FACTOR
    nearest = np.full((2 * h, 2 * w), 1e6, np.float32)
    a, b = (np.array(c, np.float32) / 127.5 - 1 for c in scene.rgb)
    kind = scene.ground[0]
    u = np.zeros((h, w), np.float32)
    if kind != "plain":
        u += (py.reshape(h, 2).mean(1) / height)[:, None] if kind == "vertical" \
            else (px.reshape(w, 2).mean(1) / width)[None, :]
    z = np.empty((CHANNELS, h, w), np.float32)
    z[3:6] = a[:, None, None] + (b - a)[:, None, None] * u
    z[6:9] = z[3:6]
    for t in scene.things:
        gx, gy = np.broadcast_arrays((px - t.x * width)[None, :], (py - t.y * height)[:, None])
        d = scenes.distance(t, gx, gy, side, scene.outline)
        closer = (d < nearest).reshape(h, 2, w, 2).mean((1, 3)) >= 0.5
        z[6:9][:, closer] = (np.array(t.rgb, np.float32) / 127.5 - 1)[:, None]
        nearest = np.minimum(nearest, d)
    q = np.tanh(nearest / REACH).reshape(h, 2, w, 2)
    z[0] = q.mean((1, 3))
    z[1] = (q[:, :, :, 1] - q[:, :, :, 0]).mean(1) / 2
    z[2] = (q[:, 1] - q[:, 0]).mean(2) / 2
    return (z - MEAN) / STD


def measure():
    """Mean and deviation of each channel over scenes, to set MEAN and STD by."""
    rng = np.random.default_rng(0)
    z = np.stack([draw(scenes.sample(rng), 1024, 576) for _ in range(600)]) * STD + MEAN
    print(z.mean((0, 2, 3)).round(3), z.std((0, 2, 3)).round(3))


if __name__ == "__main__":
    measure()
