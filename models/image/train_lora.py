"""Train a LoRA on top of the finished UNet: pastel colours.  python train_lora.py --minutes 5

Reads .work/unet.pt, writes lintel-image/loras/pastel.safetensors in diffusers' naming. Each weight W of the
UNet's blocks becomes W + B A with A and B of rank 4; only they learn.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.multiprocessing as mp
from safetensors.torch import save_file
from torch import nn
from torch.nn.utils import parametrize

import captions
import data
import scenes
from train_unet import WORK, Objective, Pool
from unet import TextEncoder, UNet

RANK = 4
BLOCKS = ("down2", "look2", "mid1", "mid_look", "mid2", "up2", "up_look2", "up1", "last")


class Low(nn.Module):
    """W [out, in, ...] to W + B A."""

    def __init__(self, w):
        super().__init__()
        self.a = nn.Parameter(torch.randn(RANK, *w.shape[1:]) / w[0].numel() ** 0.5)
        self.b = nn.Parameter(torch.zeros(w.shape[0], RANK, *[1] * (w.ndim - 2)))

    def forward(self, w):
        return w + (self.b.flatten(1) @ self.a.flatten(1)).view_as(w)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--minutes", type=float, default=5)
    ap.add_argument("--cells", type=int, default=15000)
    ap.add_argument("--guide", type=float, default=2.5)
    ap.add_argument("--out", type=Path, default=Path(__file__).parent / "lintel-image/loras/pastel.safetensors")
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    ctx = mp.get_context("spawn")
    source, wanted = ctx.Queue(12), ctx.Value("i", 4000)
    worker = ctx.Process(target=data.serve, args=(source, 3, wanted, scenes.pastel), daemon=True)
    worker.start()
    kept = torch.load(WORK / "unet.pt")
    text, unet = TextEncoder(len(captions.vocabulary())), UNet()
    text.load_state_dict(kept["ema_text"])
    unet.load_state_dict(kept["ema_unet"])
    unet = unet.to(memory_format=torch.channels_last)
    for p in [*text.parameters(), *unet.parameters()]:
        p.requires_grad_(False)
    low = {}
    for name, m in unet.named_modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)) and name.split(".")[0] in BLOCKS and not name.endswith("emb"):
            low[name] = Low(m.weight)
            parametrize.register_parametrization(m, "weight", low[name])
    params = [p for v in low.values() for p in v.parameters()]
    opt = torch.optim.AdamW(params, lr=4e-3, weight_decay=0, betas=(0.9, 0.98))
    pool, objective = Pool(source, np.random.default_rng(3)), Objective(text, unet)
    pool.fill(wait=True)
    start, step, seen, losses = time.time(), 0, 0, []
    while (done := (time.time() - start) / (60 * args.minutes)) < 1:
        pool.fill()
        wanted.value = 4000 + seen // 2
        for g in opt.param_groups:
            g["lr"] = 4e-3 * min(1, (step + 1) / 20) * (1 - 0.97 * done)
        z, ids, _ = pool.batch(data.TABLE, args.cells)
        loss = objective(z, ids, args.guide)[0]
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        step, seen = step + 1, seen + len(z)
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"{step} {time.time() - start:.0f}s seen {seen} loss {np.mean(losses[-50:]):.4f}", flush=True)
    worker.terminate()
    args.out.parent.mkdir(exist_ok=True)
    save_file({f"unet.{n}.lora_{k}.weight": getattr(v, k.lower()).detach().half().contiguous()
               for n, v in low.items() for k in "AB"}, args.out)
    print(args.out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
