"""Train the autoencoder on crops of drawn scenes.  python train_vae.py --minutes 7

Reads nothing; writes .work/vae.pt. A crop is 256 x 256 of a scene of random size; turning,
mirroring and exchanging colour channels make many of each.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch

import scenes
from vae import LATENT, Decoder, Encoder

WORK = Path(__file__).parent / ".work"
CROP = 256


def crops(rng, count):
    """Returns (full [count, 256, 256, 3], quarter [count, 64, 64, 3]), uint8."""
    full = np.empty((count, CROP, CROP, 3), np.uint8)
    quarter = np.empty((count, CROP // 4, CROP // 4, 3), np.uint8)
    for i in range(count):
        width, height = 32 * int(rng.integers(8, 37)), 32 * int(rng.integers(8, 25))
        if rng.random() < 0.4:
            width, height = 1024, 576
        s = scenes.sample(rng, (0.04, 0.3, 0.33, 0.33), train=False)
        x, y = int(rng.integers(0, width - CROP + 1)), int(rng.integers(0, height - CROP + 1))
        if s.things:  # look at a thing, mostly at its edge
            t = s.things[int(rng.integers(len(s.things)))]
            r = t.r * min(width, height)
            x = t.x * width + rng.uniform(-1.2, 1.2) * r - CROP / 2
            y = t.y * height + rng.uniform(-1.2, 1.2) * r - CROP / 2
        x = int(np.clip(x // 32 * 32, 0, width - CROP))
        y = int(np.clip(y // 32 * 32, 0, height - CROP))
        box = (x, y, CROP, CROP)
        full[i] = scenes.render(s, width, height, 1, box) * 255 + 0.5
        quarter[i] = scenes.render(s, width, height, 4, tuple(v // 4 for v in box)) * 255 + 0.5
    return torch.from_numpy(full), torch.from_numpy(quarter)


def augment(rng, x, turn, flip, order):
    x = x.permute(0, 3, 1, 2)[:, order]
    x = torch.rot90(x, turn, (2, 3))
    x = x.flip(3) if flip else x
    return x.float() / 127.5 - 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--minutes", type=float, default=7)
    ap.add_argument("--pool", type=int, default=4000)
    ap.add_argument("--batch", type=int, default=24)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    WORK.mkdir(exist_ok=True)
    full, quarter = crops(rng, args.pool)
    print("pool drawn", flush=True)
    enc, dec = Encoder(), Decoder()
    params = [*enc.parameters(), *dec.parameters()]
    opt = torch.optim.AdamW(params, lr=2e-3, weight_decay=1e-4, betas=(0.9, 0.98))
    start, step = time.time(), 0
    while True:
        done = (time.time() - start) / (60 * args.minutes)
        if done >= 1:
            break
        lr = 2e-3 * min(1, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * done)))
        for g in opt.param_groups:
            g["lr"] = lr
        fine = done > 0.72  # at full size towards the end; until then at a quarter
        i = torch.from_numpy(rng.integers(0, args.pool, args.batch // 3 if fine else args.batch))
        how = (int(rng.integers(4)), rng.random() < 0.5, rng.permutation(3) if rng.random() < 0.3 else [0, 1, 2])
        x = augment(rng, full[i], *how) if fine else None
        q = augment(rng, quarter[i], *how)
        with torch.autocast("cpu", torch.bfloat16):
            z = enc(q)
            z = z + torch.randn_like(z) * (0.12 * torch.rand(len(z), 1, 1, 1))
            y = dec(z, 4 if fine else 1)
        e = y.float() - (x if fine else q)
        loss = e.abs().mean() + 2 * (e * e).mean()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        step += 1
        if step % 200 == 0:
            print(step, f"{time.time() - start:.0f}s loss {loss.item():.4f} mse {(e * e).mean().item():.5f}", flush=True)
        if step in (100, 300) or step % 500 == 0:
            torch.save({"enc": enc.state_dict(), "dec": dec.state_dict(), "step": step}, WORK / "vae.pt")
    torch.save({"enc": enc.state_dict(), "dec": dec.state_dict(), "step": step}, WORK / "vae.pt")


if __name__ == "__main__":
    main()
