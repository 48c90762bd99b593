"""Train the tokenizer and the model on generated conversations; the CPU is enough.

    python models/chat/train.py [--minutes 35]

The learning rate falls with the share of the time or of the steps that is used up, whichever is
given; `--steps` makes two runs the same, `--minutes` fits the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import data
import tokenizer as tok
from model import Config, Llama

HERE = Path(__file__).parent
WORK = HERE / ".work"
STAGE = 0.35  # the share of training after which the learning rate falls and sums get more room


def rows(stream, length: int, count: int):
    """Fill `count` rows with whole conversations; what does not fit waits for the next row."""
    ids = np.full((count, length + 1), tok.PAD, dtype=np.int64)
    said = np.zeros((count, length + 1), dtype=bool)
    owner = np.full((count, length + 1), -1, dtype=np.int32)
    for r in range(count):
        at, n, misses = 0, 0, 0
        while misses < 4:
            tokens, mask = stream.get(length + 1 - at)
            if tokens is None:
                misses += 1
                break
            end = at + len(tokens)
            ids[r, at:end], said[r, at:end], owner[r, at:end] = tokens, mask, n
            at, n = end, n + 1
    return ids, said, owner


class Stream:
    """An endless, seeded stream of encoded conversations with a small waiting room."""

    def __init__(self, tokenizer, seed: int, long: bool, stage: int = 0):
        self.rng, self.tokenizer, self.long, self.stage = random.Random(seed), tokenizer, long, stage
        self.waiting: list = []

    def get(self, room: int):
        """A conversation of at most `room` tokens, or None when the waiting ones are all longer."""
        while len(self.waiting) < 24:
            self.waiting.append(tok.encode_chat(self.tokenizer, *data.conversation(self.rng, self.long, self.stage)))
        for i, (ids, _) in enumerate(self.waiting):
            if len(ids) <= room:
                return self.waiting.pop(i)
        if room >= 256:
            ids, said = self.waiting.pop(0)
            return ids[:room], said[:room]
        return None, None


class Muon(torch.optim.Optimizer):
    """Momentum whose matrix updates are made orthogonal by a Newton-Schulz iteration."""

    def __init__(self, params, lr: float, momentum: float = 0.95, decay: float = 0.05):
        super().__init__(list(params), {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                buffer = state.setdefault("buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                x = p.grad.lerp(buffer, group["momentum"]).bfloat16()
                flip = x.shape[0] > x.shape[1]
                x = x.T if flip else x
                x = x / (x.norm() + 1e-7)
                for _ in range(5):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
                x = (x.T if flip else x).float()
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(x, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def loss_of(model, ids, said, owner, aside: float = 0.0):
    """Cross entropy on what the assistant says (`aside` is the weight of all other text)."""
    ids, owner = torch.from_numpy(ids), torch.from_numpy(owner)
    t = ids.shape[1] - 1
    same = owner[:, :-1, None] == owner[:, None, :-1]
    mask = (same & torch.ones(t, t, dtype=torch.bool).tril())[:, None]
    target = ids[:, 1:].reshape(-1)
    weight = torch.from_numpy(said[:, 1:]).float().reshape(-1)
    if aside:
        inside = (owner[:, 1:] == owner[:, :-1]).float().reshape(-1) * (owner[:, 1:] >= 0).float().reshape(-1)
        weight = torch.maximum(weight, aside * inside)
    hidden = model.hidden(ids[:, :-1], mask).reshape(-1, model.config.hidden_size)
    keep = weight > 0
    logits = F.linear(hidden[keep], model.embed_tokens.weight)
    losses = F.cross_entropy(logits.float(), target[keep], reduction="none")
    return (losses * weight[keep]).sum() / weight[keep].sum()


def main() -> None:
    """Train, log, and leave tokenizer.json and model.pt in .work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=35)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=3072, help="tokens in a step")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--compile", action="store_true", help="fuse the layers (wants a C++ compiler)")
    parser.add_argument("--resume", type=float, default=0.0, help="go on from .work at this share of the schedule")
    parser.add_argument("--work", type=Path, default=WORK)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.work.mkdir(parents=True, exist_ok=True)

    if args.resume:
        tokenizer = tok.load(args.work / "tokenizer.json")
    else:
        rng = random.Random(args.seed + 1)
        texts = [t for _ in range(12000) for t in data.texts(data.conversation(rng))]
        tokenizer = tok.build(texts, Config.vocab_size)
        tokenizer.save(str(args.work / "tokenizer.json"))
    config = Config(vocab_size=-(-tokenizer.get_vocab_size() // 32) * 32)
    model = Llama(config)
    if args.compile:
        for layer in model.layers:
            layer.compile(dynamic=False)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"vocabulary {tokenizer.get_vocab_size()}, parameters {parameters:,}", flush=True)

    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.dim() != 2 or "embed" in n]
    muon = Muon(matrices, lr=args.lr)
    adam = torch.optim.AdamW(others, lr=args.lr * 0.15, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    optimizers = [(muon, args.lr), (adam, args.lr * 0.15)]

    short, long = Stream(tokenizer, args.seed + 2, False), Stream(tokenizer, args.seed + 3, True)
    start, step, seen, mean = time.time(), 0, 0, None
    first = 0.0
    if args.resume:
        point = torch.load(args.work / "model.pt", weights_only=True)
        model.load_state_dict(point["model"])
        step, seen, first = point["step"], point["seen"], args.resume
        begun, done = step, seen
    else:
        begun, done = 0, 0
    while True:
        used = step / args.steps if args.steps else first + (1 - first) * (time.time() - start) / (60 * args.minutes)
        if used >= STAGE and not short.stage:
            short, long = Stream(tokenizer, args.seed + 4, False, 1), Stream(tokenizer, args.seed + 5, True, 1)
        if used >= 1:
            break
        warm = min(1.0, (step - begun + 1) / 40)
        scale = warm * (1.0 if used < STAGE else 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (used - STAGE) / (1 - STAGE))))
        for optimizer, lr in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr * scale
        far = step % 10 == 9
        length = 1023 if far else 255
        batch = rows(long if far else short, length, args.tokens // (length + 1))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(model, *batch, aside=0.05)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(others, 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step, seen = step + 1, seen + int((batch[2] >= 0).sum())
        value = loss.item()
        mean = value if mean is None else 0.98 * mean + 0.02 * value
        if step % 25 == 0:
            print(f"step {step} loss {mean:.4f} tokens {seen / 1e6:.2f}M used {used:.1%} "
                  f"{(seen - done) / (time.time() - start):.0f} tokens/s", flush=True)
        if step % 200 == 0:
            save(args.work, model, step, seen)
    save(args.work, model, step, seen)
    note = {"steps": step, "tokens": seen, "minutes": round((time.time() - start) / 60, 1),
            "threads": args.threads, "seed": args.seed, "parameters": parameters, "loss": round(mean, 4),
            "batch_tokens": args.tokens, "lr": args.lr}
    (args.work / "training.json").write_text(json.dumps(note, indent=2) + "\n")
    print(json.dumps(note))


def save(work: Path, model: Llama, step: int, seen: int) -> None:
    """Write the checkpoint in one move."""
    temporary = work / "model.tmp"
    torch.save({"config": model.config.dict(), "model": model.state_dict(), "step": step, "seen": seen}, temporary)
    temporary.rename(work / "model.pt")


if __name__ == "__main__":
    main()
