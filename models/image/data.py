"""Latents with captions for the UNet, drawn without end by a process of its own.

One item: latent [9, h, w], two captions as ids [2, 40], and the scene's facts [15] as class numbers
(what the text encoder's auxiliary heads have to say).
"""
import time

import numpy as np
import torch

import captions
import latents
import scenes

SIZE_NAMES = list(scenes.SIZES)
PLACE_NAMES = list(scenes.PLACES)
# Classes of each fact; class 0 is "none". Three things of (shape, colour, size, place), then the ground.
FACTS = [len(scenes.SHAPES) + 1, len(scenes.NAMES) + 1, len(SIZE_NAMES) + 1, len(PLACE_NAMES) + 1] * 3 \
    + [3, len(scenes.NAMES) + 1, len(scenes.NAMES) + 1]

# (w, h) in cells of 32 pixels, with the share of scenes; (32, 18) is 1024x576.
TABLE = {(32, 18): 0.7, (16, 9): 0.06, (32, 32): 0.05, (16, 16): 0.05, (18, 32): 0.04, (24, 24): 0.02,
         (8, 8): 0.03, (4, 4): 0.005, (40, 23): 0.015, (48, 27): 0.01, (64, 36): 0.01, (64, 64): 0.003,
         (24, 18): 0.007}


def facts(s):
    nth = lambda names, x: 0 if x is None else names.index(x) + 1
    out = []
    for i in range(3):
        t = s.things[i] if i < len(s.things) else None
        out += [0] * 4 if t is None else [nth(scenes.SHAPES, t.shape), nth(scenes.NAMES, t.colour),
                                          nth(SIZE_NAMES, t.size), nth(PLACE_NAMES, t.place)]
    kind, a, b = s.ground
    return out + [("plain", "vertical", "horizontal").index(kind), nth(scenes.NAMES, a), nth(scenes.NAMES, b)]


def texts(rng, count, tok, aspect=16 / 9):
    """count scenes with ids uint8 [count, 2, 40] and facts int64 [count, 15]."""
    drawn = [scenes.sample(rng, aspect=aspect) for _ in range(count)]
    lines = [captions.caption(rng, s) for s in drawn for _ in range(2)]
    ids = np.array([e.ids for e in tok.encode_batch(lines)], np.uint8).reshape(count, 2, -1)
    lost = (rng.random(ids.shape) < 0.004) & (ids > 2)  # a word that we do not know harms little
    ids[lost] = 2
    return drawn, ids, np.array([facts(s) for s in drawn])


def serve(queue, seed, wanted, style=None):
    """Puts (size, latents, ids, facts) of 64 scenes on the queue until the process is ended.
    wanted: how many scenes are to be drawn by now (shared). style: changes a scene."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    tok = captions.make_tokenizer()
    drawn_so_far = 0
    while True:
        if drawn_so_far >= wanted.value:
            time.sleep(0.1)
            continue
        drawn_so_far += 64
        w, h = list(TABLE)[int(rng.choice(len(TABLE), p=list(TABLE.values())))]
        drawn, ids, what = texts(rng, 64, tok, w / h)
        for s in drawn if style else ():
            style(s)
        z = np.stack([latents.draw(s, latents.FACTOR * w, latents.FACTOR * h) for s in drawn])
        queue.put(((w, h), z.astype(np.float16), ids, what))
