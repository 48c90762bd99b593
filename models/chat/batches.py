"""Batches for training: each row is one conversation, with others of nearly its length.

Rows of few lengths keep the padding small and the compiled code few. A block of batches depends on
the seed and its number alone, so training that goes on later sees what it would have seen.
"""

from __future__ import annotations

import random

import numpy as np

import data
import tokenizer as tok

LENGTHS = [24, 32, 48, 64, 80, 112, 160, 224, 320, 512, 1024]
BATCH = 3072  # tokens in a batch, the padding included
LONG = 0.004  # of all conversations: these wander over many subjects


def block(tokenizer, seed: int, number: int, count: int, look=None) -> list[tuple[np.ndarray, np.ndarray]]:
    """`count` batches as (ids, which of the ids the model has to say), both [rows, length + 1].

    `look` is called with every conversation, for who wants to see what training sees.
    """
    rng = random.Random(f"{seed}/{number}")
    waiting: dict[int, list] = {length: [] for length in LENGTHS}
    out = []
    while len(out) < count:
        conversation = data.conversation(rng, rng.random() < LONG)
        if look:
            look(conversation)
        ids, said = tok.encode_chat(tokenizer, *conversation)
        ids, said = ids[:LENGTHS[-1] + 1], said[:LENGTHS[-1] + 1]
        length = next(n for n in LENGTHS if len(ids) <= n + 1)
        waiting[length].append((ids, said))
        if len(waiting[length]) == BATCH // length:
            out.append(padded(waiting[length], length))
            waiting[length] = []
    rng.shuffle(out)
    return out


def padded(rows: list, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of tokens as two arrays."""
    ids = np.full((len(rows), length + 1), tok.PAD, dtype=np.int64)
    said = np.zeros((len(rows), length + 1), dtype=bool)
    for r, (tokens, mask) in enumerate(rows):
        ids[r, :len(tokens)], said[r, :len(mask)] = tokens, mask
    return ids, said
