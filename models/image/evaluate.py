"""Count coloured areas in pictures of prompts whose combinations training never saw.

    python evaluate.py [--prompts 60] [--grid out.png]

A picture is right when, with every pixel given the nearest palette colour, at least 80% of the
frame along its edge has the asked background colour, the asked shape colour covers at least 1.5%
of the picture, and no third colour covers more than half as much as the shape. The shape is
right when, of all shapes drawn into the same box, the asked one overlaps best.
"""
import argparse
import time

import numpy as np
from PIL import Image

import scenes
from reference import HERE, Pipeline

PALETTE = np.array(list(scenes.COLOURS.values()), np.float32)


def article(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


def prompts(count):
    """[(prompt, shape, colour, ground)] from the held-out combinations, spread evenly."""
    every = [(s, c, g) for s in scenes.SHAPES for c in scenes.NAMES for g in scenes.NAMES
             if c != g and scenes.held_out(s, c, g)]
    order = np.random.default_rng(7).permutation(len(every))[:count]
    forms = ["{c} {s} on {g} background", "{c} {s}, {h} background", "{c} {s} on {g}"]
    out = []
    for i, k in enumerate(order):
        s, c, g = every[k]
        text = forms[i % 3].format(c=article(c), s=s, g=article(g), h=g)
        out.append((text if i % 3 != 2 else f"{article(c)} {s} on {g}", s, c, g))
    return out


def names(picture):
    """uint8 [h, w, 3] to the index of the nearest palette colour [h, w]."""
    p = picture[::4, ::4].astype(np.float32)
    return ((p[:, :, None] - PALETTE) ** 2).sum(-1).argmin(-1)


def colours_right(picture, colour, ground):
    n = names(picture)
    edge = np.concatenate([n[:3].ravel(), n[-3:].ravel(), n[:, :3].ravel(), n[:, -3:].ravel()])
    share = np.bincount(n.ravel(), minlength=len(PALETTE)) / n.size
    c, g = scenes.NAMES.index(colour), scenes.NAMES.index(ground)
    behind = (edge == g).mean() >= 0.8
    third = max(v for i, v in enumerate(share) if i not in (c, g))
    return behind, share[c] >= 0.015 and third <= max(0.5 * share[c], 0.01)


def shape_of(picture, colour):
    """The shape that overlaps best with the area of a colour, or None."""
    mask = names(picture) == scenes.NAMES.index(colour)
    if mask.mean() < 0.005:
        return None
    ys, xs = np.nonzero(mask)
    y0, y1, x0, x1 = *np.percentile(ys, (0.5, 99.5)), *np.percentile(xs, (0.5, 99.5))
    box = mask[int(y0):int(y1) + 1, int(x0):int(x1) + 1]
    h, w = box.shape
    scores = {}
    for s in scenes.SHAPES:
        gy, gx = np.meshgrid(np.linspace(-1.5, 1.5, 240), np.linspace(-1.5, 1.5, 240), indexing="ij")
        full = scenes._distance(s, gx, gy, 1.0) < 0
        fy, fx = np.nonzero(full)
        form = Image.fromarray(full[fy.min():fy.max() + 1, fx.min():fx.max() + 1])
        aspect = (fx.max() - fx.min()) / (fy.max() - fy.min()) / (w / h)
        form = np.asarray(form.resize((w, h)))
        overlap = (form & box).sum() / (form | box).sum()
        scores[s] = overlap * min(aspect, 1 / aspect) ** 0.5
    return max(scores, key=scores.get)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--prompts", type=int, default=60)
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--guidance", type=float, default=7.5)
    ap.add_argument("--width", type=int, default=1024)
    ap.add_argument("--height", type=int, default=576)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--model", default=HERE / "lintel-image")
    ap.add_argument("--grid", help="write a sheet of the pictures here")
    ap.add_argument("--verbose", action="store_true")
    a = ap.parse_args()
    pipe, rows, sheet, start = Pipeline(a.model, a.threads), [], [], time.time()
    for i, (text, shape, colour, ground) in enumerate(prompts(a.prompts)):
        picture = pipe(text, a.width, a.height, seed=i, steps=a.steps, guidance=a.guidance)[0]
        behind, front = colours_right(picture, colour, ground)
        rows.append((behind, front, behind and front, shape_of(picture, colour) == shape))
        sheet.append(picture[::4, ::4])
        if a.verbose:
            print(*("ok" if v else "--" for v in rows[-1]), text, flush=True)
    r = np.array(rows).mean(0) * 100
    print(f"{len(rows)} held-out prompts, {a.width}x{a.height}, {a.steps} steps, guidance {a.guidance}: "
          f"background {r[0]:.0f}%, shape colour {r[1]:.0f}%, both {r[2]:.0f}%, shape {r[3]:.0f}%; "
          f"{(time.time() - start) / len(rows):.2f} s each")
    if a.grid:
        while len(sheet) % 6:
            sheet.append(np.zeros_like(sheet[0]))
        Image.fromarray(np.concatenate([np.concatenate(sheet[i:i + 6], 1)
                                        for i in range(0, len(sheet), 6)])).save(a.grid)


if __name__ == "__main__":
    main()
