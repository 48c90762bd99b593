"""Latents with captions for the UNet, drawn without end by a process of its own.

One item: latent [12, h, w], two captions as ids [2, 40], and the scene's facts [15] as class numbers
(what the text encoder's auxiliary heads have to say).
"""
import time

import numpy as np
import torch

import captions
import scenes
from vae import Encoder

SIZE_NAMES = list(scenes.SIZES)
PLACE_NAMES = list(scenes.PLACES)
# Classes of each fact; class 0 is "none". Three things of (shape, colour, size, place), then the ground.
FACTS = [len(scenes.SHAPES) + 1, len(scenes.NAMES) + 1, len(SIZE_NAMES) + 1, len(PLACE_NAMES) + 1] * 3 \
    + [3, len(scenes.NAMES) + 1, len(scenes.NAMES) + 1]

# (w, h) in cells of 32 pixels with their shares.
TABLE = {(32, 18): 0.34, (16, 9): 0.5, (16, 16): 0.08, (8, 8): 0.04, (24, 24): 0.02, (18, 32): 0.02}


def facts(s):
    nth = lambda names, x: 0 if x is None else names.index(x) + 1
    out = []
    for i in range(3):
        t = s.things[i] if i < len(s.things) else None
        out += [0] * 4 if t is None else [nth(scenes.SHAPES, t.shape), nth(scenes.NAMES, t.colour),
                                          nth(SIZE_NAMES, t.size), nth(PLACE_NAMES, t.place)]
    kind, a, b = s.ground
    return out + [("plain", "vertical", "horizontal").index(kind), nth(scenes.NAMES, a), nth(scenes.NAMES, b)]


def texts(rng, count, tok):
    """count scenes with ids uint8 [count, 2, 40] and facts int64 [count, 15]."""
    drawn = [scenes.sample(rng) for _ in range(count)]
    lines = [captions.caption(rng, s) for s in drawn for _ in range(2)]
    ids = np.array([e.ids for e in tok.encode_batch(lines)], np.uint8).reshape(count, 2, -1)
    lost = (rng.random(ids.shape) < 0.004) & (ids > 2)  # a word that we do not know harms little
    ids[lost] = 2
    return drawn, ids, np.array([facts(s) for s in drawn])


def encode(enc, drawn, w, h):
    """float16 [count, 12, h, w]."""
    out = []
    for i in range(0, len(drawn), 32):
        x = np.stack([scenes.render(s, 32 * w, 32 * h, 4) for s in drawn[i:i + 32]])
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            out.append(enc(torch.from_numpy(x).permute(0, 3, 1, 2) * 2 - 1).half())
    return torch.cat(out)


def serve(queue, checkpoint, seed, wanted):
    """Puts (size, latents, ids, facts) of 128 scenes on the queue until the process is ended.
    wanted: how many scenes are to be drawn by now (shared)."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    enc = Encoder()
    enc.load_state_dict(torch.load(checkpoint)["enc"])
    enc.eval()
    tok = captions.make_tokenizer()
    drawn_so_far = 0
    while True:
        if drawn_so_far >= wanted.value:
            time.sleep(0.2)
            continue
        drawn_so_far += 128
        size = list(TABLE)[int(rng.choice(len(TABLE), p=list(TABLE.values())))]
        drawn, ids, what = texts(rng, 128, tok)
        z = encode(enc, drawn, *size)
        queue.put((size, z.numpy(), ids, what))
