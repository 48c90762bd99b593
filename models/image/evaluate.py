"""Count coloured areas in pictures of prompts, most of which training never saw.

    python evaluate.py [--prompts 60] [--others 24] [--grid out.png]
    python evaluate.py --server http://127.0.0.1:8080 --least 90

With --server a gateway draws, through all that a caller goes through; else the numpy pipeline. It fails
below --least percent of pictures with both colours right.

The main list has held-out combinations of shape, colour and background (`scenes.held_out`). A
picture's colours are right when, with every pixel given the nearest palette colour, at least 80% of
the frame along its edge has the asked background colour, the asked shape colour covers at least
1.5% of the picture, and no third colour covers more than half as much as the shape. A shape is right
when, of all shapes drawn into the same box, the asked one overlaps best.

The other lists ask for sizes, places, two and three things and gradients; each picture counts as
right only when everything that was asked is: see `check`.
"""
import argparse
import io
import json
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
from PIL import Image

import scenes

HERE = Path(__file__).parent
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
        out.append((forms[i % 3].format(c=article(c), s=s, g=article(g) if i % 3 != 2 else g, h=g), s, c, g))
    return out


def others(kind, count):
    """[(prompt, wanted)]: wanted has things [(shape, colour)], ground, and what else is asked."""
    rng, out = np.random.default_rng(11), []
    while len(out) < count:
        colours = [str(c) for c in rng.permutation(scenes.NAMES)]
        ground, second, colours = colours[0], colours[1], colours[2:]
        n = {"two": 2, "three": 3}.get(kind, 1)
        things = [(str(rng.choice(scenes.SHAPES)), c) for c in colours[:n]]
        a = [article(f"{c} {s}") for s, c in things]
        behind = f"on {article(ground)} background"
        if kind == "size":
            size = list(scenes.SIZES)[len(out) % 3]
            out.append((f"a {size} {things[0][1]} {things[0][0]} {behind}",
                        {"things": things, "ground": ground, "size": size}))
        elif kind == "place":
            place = list(scenes.PLACES)[len(out) % 9]
            words = {"center": "in the center", "left": "on the left", "right": "on the right"}.get(
                place, f"at the {place}")
            out.append((f"{a[0]} {words} {behind}", {"things": things, "ground": ground, "place": place}))
        elif kind == "two":
            words, axis = [("to the left of", 0), ("above", 1)][len(out) % 2]
            out.append((f"{a[0]} {words} {a[1]} {behind}", {"things": things, "ground": ground, "axis": axis}))
        elif kind == "three":
            out.append((f"{a[0]}, {a[1]} and {a[2]} {behind}", {"things": things, "ground": ground, "axis": 0}))
        else:
            mix = PALETTE[scenes.NAMES.index(ground)] + np.linspace(0, 1, 16)[:, None] * (
                PALETTE[scenes.NAMES.index(second)] - PALETTE[scenes.NAMES.index(ground)])
            if np.linalg.norm(mix - PALETTE[scenes.NAMES.index(things[0][1])], axis=1).min() > 110:
                out.append((f"{a[0]} on a gradient from {ground} to {second}",
                            {"things": things, "ground": ground, "second": second}))
    return out


def names(picture):
    """uint8 [h, w, 3] to the index of the nearest palette colour [h / 4, w / 4]."""
    p = picture[::4, ::4].astype(np.float32)
    return ((p[:, :, None] - PALETTE) ** 2).sum(-1).argmin(-1)


def area(picture, colour):
    """Where a colour is, [h / 4, w / 4] of bool."""
    far = np.abs(picture[::4, ::4].astype(np.float32) - PALETTE[scenes.NAMES.index(colour)]).max(-1)
    return (names(picture) == scenes.NAMES.index(colour)) & (far < 48)


def colours_right(picture, colour, ground):
    n = names(picture)
    edge = np.concatenate([n[:3].ravel(), n[-3:].ravel(), n[:, :3].ravel(), n[:, -3:].ravel()])
    share = np.bincount(n.ravel(), minlength=len(PALETTE)) / n.size
    c, g = scenes.NAMES.index(colour), scenes.NAMES.index(ground)
    behind = (edge == g).mean() >= 0.8
    third = max(v for i, v in enumerate(share) if i not in (c, g))
    return behind, share[c] >= 0.015 and third <= max(0.5 * share[c], 0.01)


def boxed(mask):
    """Cut to the box around nearly all of it; a few stray pixels do not widen it."""
    ys, xs = np.nonzero(mask)
    y0, y1, x0, x1 = *np.percentile(ys, (0.5, 99.5)), *np.percentile(xs, (0.5, 99.5))
    return mask[int(y0):int(y1) + 1, int(x0):int(x1) + 1]


def form(shape):
    """The shape of radius 1 as bool, 80 pixels per radius."""
    gy, gx = np.meshgrid(np.linspace(-1.5, 1.5, 240), np.linspace(-1.5, 1.5, 240), indexing="ij")
    return scenes._distance(shape, gx, gy, 1.0) < 0


def shape_of(picture, colour, mask=None):
    """The shape that overlaps best with the area of a colour, or None."""
    mask = names(picture) == scenes.NAMES.index(colour) if mask is None else mask
    if mask.mean() < 0.002:
        return None
    box = boxed(mask)
    h, w = box.shape
    scores = {}
    for s in scenes.SHAPES:
        full = boxed(form(s))
        aspect = full.shape[1] / full.shape[0] / (w / h)
        fitted = np.asarray(Image.fromarray(full).resize((w, h)))
        overlap = (fitted & box).sum() / (fitted | box).sum()
        scores[s] = overlap * min(aspect, 1 / aspect) ** 0.5
    return max(scores, key=scores.get)


def check(picture, want):
    """Whether all of it is right: each thing's colour and shape, the background's colour at the edges
    (of a gradient, at the top and at the bottom), and, where asked, the size (the nearest of the
    three by the area), the place (nearest of the nine), the order from left to right or downwards."""
    n, where = names(picture), []
    top, bottom = n[:2].ravel(), n[-2:].ravel()
    first, last = (scenes.NAMES.index(want.get(k, want["ground"])) for k in ("ground", "second"))
    if (top == first).mean() < 0.8 or (bottom == last).mean() < 0.8:
        return False
    for shape, colour in want["things"]:
        mask = area(picture, colour)
        if shape_of(picture, colour, mask) != shape:
            return False
        ys, xs = np.nonzero(mask)
        where.append((xs.mean() / mask.shape[1], ys.mean() / mask.shape[0], mask.sum()))
    if "axis" in want and any(a[want["axis"]] >= b[want["axis"]] for a, b in zip(where, where[1:])):
        return False
    if "place" in want:
        x, y = where[0][:2]
        near = min(scenes.PLACES, key=lambda p: np.hypot((scenes.PLACES[p][0] - x) * 16 / 9, scenes.PLACES[p][1] - y))
        return near == want["place"]
    if "size" in want:
        r = (where[0][2] / (form(want["things"][0][0]).sum() / 80 ** 2)) ** 0.5 / min(n.shape)
        return min(scenes.SIZES, key=lambda s: abs(np.log(scenes.SIZES[s] / r))) == want["size"]
    return True


def over(server):
    """Draws as `reference.Pipeline` does, but on a gateway."""
    def draw(text, width, height, seed, steps, guidance, loras=None):
        body = dict(model_id="", prompt=text, width=width, height=height, seed=seed, num_inference_steps=steps,
                    guidance_scale=guidance, safety_check=False, loras=json.dumps(loras or {}))
        request = urllib.request.Request(f"{server}/text-to-image", json.dumps(body).encode(),
                                         {"Authorization": "Bearer evaluation", "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            url = json.load(answer)["images"][0]["url"]
        with urllib.request.urlopen(url) as answer:
            return np.asarray(Image.open(io.BytesIO(answer.read())).convert("RGB")), None
    return draw


def local(model, threads, lora=None):
    from reference import Pipeline
    return Pipeline(model, threads, lora=lora)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--prompts", type=int, default=60)
    ap.add_argument("--others", type=int, default=24, help="pictures in each of the other lists")
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--guidance", type=float, default=7.5)
    ap.add_argument("--width", type=int, default=1024)
    ap.add_argument("--height", type=int, default=576)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--server", help="address of a gateway that draws")
    ap.add_argument("--least", type=float, default=0, help="percent that must be right, of both colours")
    ap.add_argument("--model", default=HERE / "lintel-image")
    ap.add_argument("--lora", help="also compare pictures with and without this file; on a server, its name")
    ap.add_argument("--loras", type=int, default=12, help="pairs of pictures for that")
    ap.add_argument("--grid", help="write a sheet of the pictures here")
    ap.add_argument("--verbose", action="store_true")
    a = ap.parse_args()
    pipe, rows, sheet, start = over(a.server) if a.server else local(a.model, a.threads), [], [], time.time()
    draw = lambda text, seed: pipe(text, a.width, a.height, seed=seed, steps=a.steps, guidance=a.guidance)[0]
    for i, (text, shape, colour, ground) in enumerate(prompts(a.prompts)):
        picture = draw(text, i)
        behind, front = colours_right(picture, colour, ground)
        rows.append((behind, front, behind and front, shape_of(picture, colour) == shape))
        sheet.append(picture[::4, ::4])
        if a.verbose:
            print(*("ok" if v else "--" for v in rows[-1]), text, flush=True)
    if rows:
        r = np.array(rows).mean(0) * 100
        print(f"{len(rows)} held-out prompts, {a.width}x{a.height}, {a.steps} steps, guidance {a.guidance}: "
              f"background {r[0]:.0f}%, shape colour {r[1]:.0f}%, both {r[2]:.0f}%, shape {r[3]:.0f}%; "
              f"{(time.time() - start) / len(rows):.2f} s each", flush=True)
    for kind in ("size", "place", "two", "three", "gradient") if a.others else ():
        right = []
        for i, (text, want) in enumerate(others(kind, a.others)):
            picture = draw(text, 1000 + i)
            right.append(check(picture, want))
            sheet.append(picture[::4, ::4])
            if a.verbose:
                print("ok" if right[-1] else "--", text, flush=True)
        print(f"{kind}: {np.mean(right) * 100:.0f}% of {len(right)} all right", flush=True)
    if a.lora:
        pale = ((lambda *given, **how: pipe(*given, **how, loras={a.lora: 1})) if a.server
                else local(a.model, a.threads, a.lora))
        how = dict(steps=a.steps, guidance=a.guidance)
        paler = []
        for i, (text, *_) in enumerate(prompts(a.loras)):
            two = [p(text, a.width, a.height, seed=i, **how)[0] for p in (pipe, pale)]
            paler.append([(255 - p.mean()) for p in two])
            sheet.append(two[1][::4, ::4])
        share = [100 * styled / plain for plain, styled in paler]
        print(f"{Path(a.lora).name} at weight 1: {np.median(share):.0f}% of the distance to white that pictures have "
              f"without (median of {len(share)}, from {min(share):.0f}% to {max(share):.0f}%; drawn so, 50%)", flush=True)
    if a.grid:
        while len(sheet) % 6:
            sheet.append(np.zeros_like(sheet[0]))
        Image.fromarray(np.concatenate([np.concatenate(sheet[i:i + 6], 1)
                                        for i in range(0, len(sheet), 6)])).save(a.grid)
    if rows and np.array(rows).mean(0)[2] * 100 < a.least:
        sys.exit(f"fewer than {a.least:.0f}% have both colours right")


if __name__ == "__main__":
    main()
