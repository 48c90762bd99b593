"""Train text encoder and UNet together.  python train_unet.py --minutes 70

Reads nothing, writes .work/unet.pt. Three parts:
 1. the text encoder alone learns to state a scene's facts from its caption (minutes);
 2. both learn to clean noisy latents, mostly of 1024x576;
 3. the same, calibrated for guidance: see `target` below.
"""
import argparse
import copy
import queue as queues
import time
from pathlib import Path

import numpy as np
import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn

import captions
import data
from latents import MEAN, STD
from muon import Muon
from schedule import alphas_cumprod
from unet import DIM, TextEncoder, UNet

WORK = Path(__file__).parent / ".work"
POOL = 10000  # scenes kept per size


class Facts(nn.Module):
    """Linear heads on the first token, [B, 128] to a loss against facts [B, 15]."""

    def __init__(self):
        super().__init__()
        self.heads = nn.Linear(DIM, sum(data.FACTS))

    def forward(self, first, what):
        parts = self.heads(first).split(data.FACTS, 1)
        return sum(F.cross_entropy(p, what[:, i]) for i, p in enumerate(parts)) / len(parts)


class Pool:
    """The newest items per size, filled from the drawing process."""

    def __init__(self, source, rng):
        self.source, self.rng, self.items, self.total = source, rng, {}, 0

    def fill(self, wait=False):
        try:
            while True:
                size, z, ids, what = self.source.get(timeout=120) if wait else self.source.get_nowait()
                wait = False
                kept = self.items.setdefault(size, [])
                kept.append([torch.from_numpy(a) for a in (z, ids, what)])
                self.total += len(ids)
                if len(kept) * len(ids) > POOL:
                    kept.pop(0)
        except queues.Empty:
            pass

    def batch(self, table, cells):
        """One size at random; as many items as make about `cells` latent cells. The table has
        shares of scenes, so sizes of which a batch holds few come more often."""
        sizes = [s for s in table if s in self.items]
        p = np.array([table[s] / np.clip(cells // (s[0] * s[1]), 4, 128) for s in sizes])
        size = sizes[int(self.rng.choice(len(sizes), p=p / p.sum()))]
        kept = self.items[size]
        n = int(np.clip(cells // (size[0] * size[1]), 4, 128))
        where = [(int(self.rng.integers(len(kept))), int(self.rng.integers(64))) for _ in range(n)]
        z = torch.stack([kept[i][0][j] for i, j in where]).float()
        ids = torch.stack([kept[i][1][j, self.rng.integers(2)] for i, j in where]).long()
        return z, ids, torch.stack([kept[i][2][j] for i, j in where])


def pretrain(text, heads, minutes, rng):
    tok = captions.make_tokenizer()
    params = [*text.parameters(), *heads.parameters()]
    opt = torch.optim.AdamW(params, lr=1.5e-3, betas=(0.9, 0.98))
    start, step = time.time(), 0
    while (done := (time.time() - start) / (60 * minutes)) < 1:
        _, ids, what = data.texts(rng, 96, tok)
        for g in opt.param_groups:
            g["lr"] = 1.5e-3 * min(1, (step + 1) / 50) * (1 - 0.8 * done)
        with torch.autocast("cpu", torch.bfloat16):
            first = text(torch.from_numpy(ids).long().flatten(0, 1))[:, 0]
        loss = heads(first.float(), torch.from_numpy(what).repeat_interleave(2, 0))
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        if step % 100 == 0:
            print(f"text {step} {time.time() - start:.0f}s loss {loss.item():.4f}", flush=True)


def target(unet, null, x, t, z, cond, guide):
    """What the UNet has to say. Plain: the clean latents z. Calibrated: for rows with a caption, a
    step of 1/guide from the answer without caption towards z. Then a guidance of `guide` gives the
    true conditional answer, and 7.5 a sharpening instead of burnt colours."""
    if guide == 1:
        return z
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        base = unet(x, t, null.expand(len(x), -1, -1), clean=True).float()
    return torch.where(cond[:, None, None, None], base + (z - base) / guide, z)


def weights(z, t, abar):
    """[B, 9, h, w]: edges count most, the colour of a thing little where no thing is near; clean
    inputs more than noisy ones (up to 6 times), for the last steps give the final look."""
    near = z[:, :1] * float(STD[0, 0, 0]) + float(MEAN[0, 0, 0])
    edge = 1 + 3 * (near.abs() < 0.93)
    w = torch.cat([edge.expand(-1, 3, -1, -1), torch.ones_like(z[:, :3]),
                   torch.where(near > 0.97, 0.3, 1.0).expand(-1, 3, -1, -1)], 1)
    return w * (1 / (1 - abar[t])).clamp(max=6)[:, None, None, None]


class Objective:
    """The loss of one batch: noise at random levels, and one caption in ten dropped."""

    def __init__(self, text, unet):
        self.text, self.unet = text, unet
        self.abar = torch.from_numpy(alphas_cumprod())
        self.empty = torch.zeros(1, captions.MAX_LENGTH, dtype=torch.long)
        self.empty[:, 0] = 1

    def __call__(self, z, ids, guide):
        """Returns the loss, the first token's states of the captions, and which of them were seen."""
        n, abar = len(z), self.abar
        cond = torch.rand(n) > (0.1 if guide == 1 else 0.2)
        ids = torch.where(cond[:, None], ids, self.empty)
        t = (1000 * torch.rand(n) ** 0.7).long().clamp(max=999)  # what is where is decided early
        a, e = abar[t][:, None, None, None], torch.randn_like(z)
        x = (a.sqrt() * z + (1 - a).sqrt() * e).to(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16):
            both = torch.cat([ids, self.empty])
            long = int((both != 0).sum(1).max())
            states = F.pad(self.text(both[:, :long]), (0, 0, 0, both.shape[1] - long))
            out = self.unet(x, t, states[:n], clean=True)
        want = target(self.unet, states[n:].detach(), x, t, z, cond, guide)
        return (weights(z, t, abar) * (out.float() - want) ** 2).mean(), states[:n, 0].float(), cond


def save(text, unet, heads, step, seen):
    torch.save({"ema_text": text.state_dict(), "ema_unet": unet.state_dict(), "heads": heads.state_dict(),
                "step": step, "seen": seen}, WORK / "unet.tmp")
    (WORK / "unet.tmp").replace(WORK / "unet.pt")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--minutes", type=float, default=70)
    ap.add_argument("--text-minutes", type=float, default=3)
    ap.add_argument("--guide", type=float, default=2.5)
    ap.add_argument("--calibrate", type=float, default=0.8, help="share of the time after which `guide` counts")
    ap.add_argument("--cells", type=int, default=37000)
    ap.add_argument("--seed", type=int, default=2)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--resume", action="store_true", help="go on from .work/unet.pt")
    ap.add_argument("--done", type=float, default=0, help="with --resume: the share of the training that lies behind")
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    ctx = mp.get_context("spawn")
    source, wanted = ctx.Queue(12), ctx.Value("i", 6000)
    worker = ctx.Process(target=data.serve, args=(source, args.seed, wanted), daemon=True)
    worker.start()
    text, unet, heads = TextEncoder(len(captions.vocabulary())), UNet(), Facts()
    print("parameters", sum(p.numel() for p in text.parameters()), sum(p.numel() for p in unet.parameters()))
    unet = unet.to(memory_format=torch.channels_last)
    pool = Pool(source, rng)
    if args.resume:
        kept = torch.load(WORK / "unet.pt")
        text.load_state_dict(kept["ema_text"])
        unet.load_state_dict(kept["ema_unet"])
        heads.load_state_dict(kept["heads"])
    else:
        pretrain(text, heads, args.text_minutes, rng)
    params = [*unet.parameters(), *text.parameters(), *heads.parameters()]
    inner = [p for n, p in unet.named_parameters() if p.ndim > 1 and n.split(".")[0] not in ("stem", "head")]
    outer = [p for p in unet.parameters() if all(p is not q for q in inner)]
    adam = torch.optim.AdamW([{"params": outer, "top": 1.5e-3},
                              {"params": [*text.parameters(), *heads.parameters()], "top": 5e-4}],
                             lr=1e-3, betas=(0.9, 0.98), weight_decay=1e-3)
    muon = Muon([{"params": inner, "top": 0.012}])
    ema_text, ema_unet = copy.deepcopy(text), copy.deepcopy(unet)
    objective = Objective(text, unet)
    start, step, seen, losses = time.time(), 0, 0, []
    saved, skipped = start, 0
    pool.fill(wait=True)
    while (done := args.done + (1 - args.done) * (time.time() - start) / (60 * args.minutes)) < 1:
        pool.fill()
        wanted.value = 6000 + seen // 2
        guide = args.guide if done > args.calibrate else 1
        rate = min(1, (step + 1) / 60) * (0.01 + 0.99 * (1 if done < 0.5 else 1 - (done - 0.5) / 0.5))
        for g in adam.param_groups + muon.param_groups:
            g["lr"] = g["top"] * rate
        z, ids, what = pool.batch(data.TABLE, args.cells)
        main_loss, first, cond = objective(z, ids, guide)
        loss = main_loss
        if cond.any():
            loss = loss + 0.05 * heads(first[cond], what[cond])
        adam.zero_grad()
        muon.zero_grad()
        loss.backward()
        if not torch.nn.utils.clip_grad_norm_(params, 1.0).isfinite():
            print(f"{step} skipped: {tuple(z.shape)} loss {main_loss.item()}", flush=True)
            if (skipped := skipped + 1) > 20:
                raise SystemExit("the training has diverged; the last checkpoint is from before")
            continue
        adam.step()
        muon.step()
        step, seen = step + 1, seen + len(z)
        keep = min(0.9985, 1 - 1 / (1 + step / 5))
        with torch.no_grad():
            for m, live in ((ema_text, text), (ema_unet, unet)):
                torch._foreach_lerp_(list(m.parameters()), list(live.parameters()), 1 - keep)
        losses.append(main_loss.item())
        if step % 100 == 0:
            print(f"{step} {time.time() - start:.0f}s seen {seen} drawn {pool.total} loss "
                  f"{np.mean(losses[-100:]):.4f} facts {(loss - main_loss).item() * 20:.4f}", flush=True)
        if time.time() - saved > 90:
            saved = time.time()
            save(ema_text, ema_unet, heads, step, seen)
    save(ema_text, ema_unet, heads, step, seen)
    worker.terminate()


if __name__ == "__main__":
    main()
