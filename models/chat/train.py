"""Train the tokenizer and the model on generated conversations; the CPU is enough.

    python models/chat/train.py

The seeds are fixed and the learning rate follows the steps, so two runs on one machine with as many
threads are the same. A checkpoint is left every 200 steps; `--resume` goes on from it.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import batches
import data
import tokenizer as tok
from model import Config, Llama
from muon import PRECISION, Muon

HERE = Path(__file__).parent
WORK = HERE / ".work"
TOGETHER = 3  # batches in a step
BLOCK = 64  # steps for which the batches are drawn at once


def scale_of(step: int, steps: int, fall: float) -> float:
    """The learning rate's share: up in 60 steps, level, and down to a fiftieth in the last `fall` of the steps."""
    left = (steps - step) / (steps * fall)
    return min(1.0, (step + 1) / 60) * max(0.02, min(1.0, left))


def backward(model: Llama, ids, said, total: int) -> float:
    """The gradient of one batch; the loss is on what the assistant says, `total` tokens in the step."""
    ids, places = torch.from_numpy(ids), np.flatnonzero(said[:, 1:])
    target = ids[:, 1:].reshape(-1)[places]
    # Up to a round number of rows: matrices of ever other shapes would fill the memory with compiled code.
    more = -len(places) % 256
    places, target = np.pad(places, (0, more)), F.pad(target, (0, more), value=-100)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=PRECISION is torch.bfloat16):
        hidden = model.hidden(ids[:, :-1]).reshape(-1, model.config.hidden_size)
        logits = F.linear(hidden[torch.from_numpy(places)], model.embed_tokens.weight)
    loss = F.cross_entropy(logits.float(), target, reduction="sum", ignore_index=-100) / total
    loss.backward()
    return loss.item()


def new_tokenizer(seed: int, path: Path):
    """The BPE, trained on the first conversations of a stream of its own."""
    rng = random.Random(seed)
    tokenizer = tok.build((t for _ in range(20000) for t in data.texts(data.conversation(rng))), Config.vocab_size)
    tokenizer.save(str(path))
    return tokenizer


def main() -> None:
    """Train, log, and leave tokenizer.json, model.pt and training.json in .work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--fall", type=float, default=0.5, help="the share of the steps in which the learning rate falls")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--eager", action="store_true", help="without torch.compile, which wants a C++ compiler; half as fast")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in .work")
    parser.add_argument("--work", type=Path, default=WORK)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.work.mkdir(parents=True, exist_ok=True)
    file = args.work / "tokenizer.json"
    tokenizer = tok.load(file) if args.resume else new_tokenizer(args.seed + 1, file)
    model = Llama(Config(vocab_size=-(-tokenizer.get_vocab_size() // 32) * 32))
    parameters = sum(p.numel() for p in model.parameters())
    print(f"vocabulary {tokenizer.get_vocab_size()}, parameters {parameters:,}", flush=True)

    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.dim() != 2 or "embed" in n]
    optimizers = [(Muon(matrices, lr=args.lr), args.lr),
                  (torch.optim.AdamW(others, lr=args.lr * 0.15, betas=(0.9, 0.95), weight_decay=0.0), args.lr * 0.15)]
    step, seen, spent, mean = 0, 0, 0.0, None
    if args.resume:
        point = torch.load(args.work / "model.pt", weights_only=True)
        model.load_state_dict(point["model"])
        for (optimizer, _), state in zip(optimizers, point["optimizers"]):
            optimizer.load_state_dict(state)
        step, seen, spent, mean = point["step"], point["seen"], point["spent"], point["mean"]
    if not args.eager:
        torch._dynamo.config.recompile_limit = 64  # one for each length of rows
        for layer in model.layers:
            layer.compile(dynamic=False)

    def save() -> None:
        temporary = args.work / "model.tmp"
        torch.save({"config": model.config.dict(), "model": model.state_dict(), "step": step, "seen": seen, "mean": mean,
                    "spent": spent, "optimizers": [o.state_dict() for o, _ in optimizers]}, temporary)
        temporary.rename(args.work / "model.pt")

    number, drawn, start, first, since = -1, [], time.time(), seen, spent
    while step < args.steps:
        if step // BLOCK != number:
            number = step // BLOCK
            drawn = batches.block(tokenizer, args.seed, number, BLOCK * TOGETHER)
        at = step % BLOCK * TOGETHER
        now = drawn[at:at + TOGETHER]
        total = sum(int(said[:, 1:].sum()) for _, said in now)
        loss = sum(backward(model, ids, said, total) for ids, said in now)
        torch.nn.utils.clip_grad_norm_(others, 1.0)
        for optimizer, lr in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr * scale_of(step, args.steps, args.fall)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step, seen = step + 1, seen + sum(int((ids != tok.PAD).sum()) for ids, _ in now)
        spent = since + time.time() - start
        mean = loss if mean is None else 0.98 * mean + 0.02 * loss
        if step % 25 == 0:
            print(f"step {step} loss {mean:.4f} tokens {seen / 1e6:.2f}M minutes {spent / 60:.1f} "
                  f"{(seen - first) / (time.time() - start):.0f} tokens/s", flush=True)
        if step % 200 == 0:
            save()
    save()
    note = {"steps": step, "tokens": seen, "minutes": round(spent / 60, 1), "threads": args.threads, "seed": args.seed,
            "precision": str(PRECISION).removeprefix("torch."),
            "parameters": parameters, "loss": round(mean, 4), "lr": args.lr}
    (args.work / "training.json").write_text(json.dumps(note, indent=2) + "\n")
    print(json.dumps(note))


if __name__ == "__main__":
    main()
