"""Train the decoder on crops of drawn scenes.  python train_vae.py --minutes 10

Reads nothing; writes .work/vae.pt. A crop is 256x256 pixels of a scene of random size, mostly at an
edge. Noise on the latents makes the decoder forgiving of what the UNet gets slightly wrong.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch

import latents
import scenes
from vae import FACTOR, Decoder

WORK = Path(__file__).parent / ".work"
CELLS = 8
CROP = FACTOR * CELLS


def crop(rng):
    """(latents float32 [9, 8, 8], picture uint8 [3, 256, 256])."""
    width, height = (FACTOR * int(rng.integers(CELLS, m)) for m in (50, 36))
    if rng.random() < 0.5:
        width, height = 1024, 576
    elif rng.random() < 0.2:
        width, height = (FACTOR * int(rng.integers(CELLS, 14)) for _ in range(2))
    s = scenes.sample(rng, (0.03, 0.3, 0.33, 0.34), train=False, aspect=width / height)
    s.outline = rng.random() < 0.2  # so that a LoRA may draw lines
    for t in s.things:  # any colours, not only those with a name
        if rng.random() < 0.3:
            t.rgb = tuple(int(c) for c in rng.integers(10, 252, 3))
    x, y = rng.integers(0, width - CROP + 1), rng.integers(0, height - CROP + 1)
    if s.things:
        t = s.things[int(rng.integers(len(s.things)))]
        r = t.r * min(width, height)
        x = t.x * width + rng.uniform(-1.2, 1.2) * r - CROP / 2
        y = t.y * height + rng.uniform(-1.2, 1.2) * r - CROP / 2
    x = int(np.clip(x // FACTOR, 0, width // FACTOR - CELLS))
    y = int(np.clip(y // FACTOR, 0, height // FACTOR - CELLS))
    z = latents.draw(s, width, height, (x, y, CELLS, CELLS))
    picture = scenes.render(s, width, height, 1, (x * FACTOR, y * FACTOR, CROP, CROP))
    return z, (picture * 255 + 0.5).astype(np.uint8).transpose(2, 0, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--minutes", type=float, default=10)
    ap.add_argument("--pool", type=int, default=5000)
    ap.add_argument("--batch", type=int, default=10)
    ap.add_argument("--resume", action="store_true", help="go on from .work/vae.pt")
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    WORK.mkdir(exist_ok=True)
    start = time.time()
    z, full = (torch.from_numpy(np.stack(v)) for v in zip(*(crop(rng) for _ in range(args.pool))))
    print(f"pool drawn {time.time() - start:.0f}s", flush=True)
    dec = Decoder().to(memory_format=torch.channels_last)
    if args.resume:
        dec.load_state_dict(torch.load(WORK / "vae.pt")["dec"])
    opt = torch.optim.AdamW(dec.parameters(), lr=2e-3, weight_decay=1e-4, betas=(0.9, 0.98))
    start, step, edge = time.time(), 0, FACTOR  # what lies beyond the crop is unknown to it
    while (done := (time.time() - start) / (60 * args.minutes)) < 1:
        lr = 2e-3 * min(1, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * done)))
        for g in opt.param_groups:
            g["lr"] = lr
        i = torch.from_numpy(rng.integers(0, args.pool, args.batch))
        noisy = z[i] + torch.randn_like(z[i]) * (0.1 * torch.rand(len(i), 1, 1, 1) ** 2)
        with torch.autocast("cpu", torch.bfloat16):
            y = dec(noisy.to(memory_format=torch.channels_last))
        e = (y - (full[i].float() / 127.5 - 1))[:, :, edge:-edge, edge:-edge]
        loss = e.abs().mean() + 2 * (e * e).mean()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(dec.parameters(), 1.0)
        opt.step()
        step += 1
        if step % 200 == 0:
            print(step, f"{time.time() - start:.0f}s loss {loss.item():.4f} mse {(e * e).mean().item():.5f}", flush=True)
        if step % 500 == 0:
            torch.save({"dec": dec.state_dict(), "step": step}, WORK / "vae.pt")
    torch.save({"dec": dec.state_dict(), "step": step}, WORK / "vae.pt")


if __name__ == "__main__":
    main()
