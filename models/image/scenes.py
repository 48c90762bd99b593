"""Scenes of simple shapes: what can be in one, how one is sampled, how it is drawn.

A scene is independent of pixels: positions are fractions of the canvas, radii are fractions of the
canvas's shorter side. `render` draws any scene at any size, with analytic anti-aliasing, so the
same scene exists at full size (to train the decoder) and at a quarter of it (to train the rest).
"""
from dataclasses import dataclass, field

import numpy as np

SHAPES = ["circle", "square", "triangle", "rectangle", "star", "diamond", "ring", "heart",
          "hexagon", "cross", "oval"]
COLOURS = {
    "red": (222, 38, 40), "green": (38, 160, 70), "blue": (40, 88, 222), "yellow": (250, 216, 48),
    "orange": (246, 136, 28), "purple": (128, 56, 182), "pink": (250, 150, 192),
    "brown": (128, 78, 44), "black": (24, 24, 26), "white": (250, 250, 250),
    "gray": (134, 134, 136), "cyan": (60, 206, 226),
}
NAMES = list(COLOURS)
# Used where a caption names no background.
QUIET = [(250, 250, 250), (238, 238, 240), (250, 244, 230), (226, 236, 248)]
SIZES = {"small": 0.125, "medium": 0.225, "large": 0.33}
# Fractions of the canvas, (x, y).
PLACES = {
    "center": (0.5, 0.5), "left": (0.2, 0.5), "right": (0.8, 0.5), "top": (0.5, 0.22),
    "bottom": (0.5, 0.78), "top left": (0.2, 0.24), "top right": (0.8, 0.24),
    "bottom left": (0.2, 0.76), "bottom right": (0.8, 0.76),
}


@dataclass
class Thing:
    """One shape. x, y in 0..1 of the canvas; r in 0..1 of its shorter side."""
    shape: str
    colour: str
    size: str
    x: float
    y: float
    r: float
    rgb: tuple
    place: str | None = None  # None: the caption does not say where


@dataclass
class Scene:
    things: list = field(default_factory=list)
    ground: tuple = ("plain", None, None)  # (plain|vertical|horizontal, name, name); name None: quiet
    rgb: tuple = ((250, 250, 250), (250, 250, 250))
    relation: str | None = None  # how two things stand to each other, if the caption says it
    outline: bool = False  # things are drawn as lines; only the decoder sees such scenes


def held_out(shape, colour, ground):
    """True for the combinations of one shape on a plain background that training never sees."""
    return (SHAPES.index(shape) * 5 + NAMES.index(colour) * 7 + NAMES.index(ground) * 11) % 10 == 3


def distance(thing, x, y, side, outline=False):
    """Signed distance in pixels of points relative to a thing's centre; side: the canvas's shorter one."""
    r = thing.r * side
    d = _distance(thing.shape, x, y, r)
    return np.abs(d + 0.09 * r) - 0.09 * r if outline else d


def _distance(shape, x, y, r):
    """Signed distance (about; exact near the edges) of points to a shape of radius r, any shape."""
    if shape == "circle":
        return np.hypot(x, y) - r
    if shape == "oval":
        k = np.hypot(x / 1.3, y / 0.75)
        return (k - r) * k / np.maximum(np.hypot(x / 1.69, y / 0.5625), 1e-6)
    if shape == "ring":
        return np.abs(np.hypot(x, y) - 0.76 * r) - 0.24 * r
    ax, ay = np.abs(x), np.abs(y)
    if shape == "square":
        return np.maximum(ax, ay) - 0.88 * r
    if shape == "rectangle":
        return np.maximum(ax - 1.3 * r, ay - 0.68 * r)
    if shape == "diamond":
        return (ax * 1.2 + ay - 1.08 * r) / 1.562
    if shape == "hexagon":
        return np.maximum(ay, ax * 0.8660254 + ay * 0.5) - 0.88 * r
    if shape == "triangle":
        return np.maximum(y - 0.72 * r, ax * 0.8660254 - y * 0.5 - 0.5 * r)
    if shape == "cross":
        return np.minimum(np.maximum(ax - 0.32 * r, ay - 0.95 * r),
                          np.maximum(ay - 0.32 * r, ax - 0.95 * r))
    if shape == "star":
        angle = np.arctan2(ax, -(y - 0.06 * r))  # 0 is up
        angle = np.abs((angle + np.pi / 5) % (2 * np.pi / 5) - np.pi / 5)
        d = np.hypot(ax, y - 0.06 * r)
        px, py = d * np.sin(angle), d * np.cos(angle)
        tip, inner = 1.08 * r, 0.48 * r
        ix, iy = inner * np.sin(np.pi / 5), inner * np.cos(np.pi / 5)
        nx, ny = tip - iy, ix
        return (px * nx + (py - tip) * ny) / np.hypot(nx, ny)
    if shape == "heart":
        u, v = ax / (1.62 * r), 0.56 - y / (1.62 * r)
        m = 0.5 * np.maximum(u + v, 0)
        far = np.hypot(u - 0.25, v - 0.75) - 0.35355339
        near = np.sqrt(np.minimum(u * u + (v - 1) ** 2, (u - m) ** 2 + (v - m) ** 2)) * np.sign(u - v)
        return np.where(u + v > 1, far, near) * 1.62 * r
    raise ValueError(shape)


def render(scene, width, height, scale=1, box=None):
    """Draw a scene of width x height pixels, at 1/scale of that, whole or only box (x, y, w, h in
    output pixels). Returns float32 [h, w, 3] in 0..1."""
    bx, by, bw, bh = box or (0, 0, width // scale, height // scale)
    px = ((np.arange(bw, dtype=np.float32) + bx + 0.5) * scale)[None, :]
    py = ((np.arange(bh, dtype=np.float32) + by + 0.5) * scale)[:, None]
    a, b = (np.array(c, np.float32) / 255 for c in scene.rgb)
    kind = scene.ground[0]
    u = py / height if kind == "vertical" else px / width
    out = np.broadcast_to(a + (b - a) * u[..., None], (bh, bw, 3)).copy() if kind != "plain" \
        else np.broadcast_to(a, (bh, bw, 3)).copy()
    side = min(width, height)
    for t in scene.things:
        r, cx, cy = t.r * side, t.x * width, t.y * height
        reach = 1.45 * r + 2 * scale
        x0 = int(np.clip((cx - reach) / scale - bx, 0, bw))
        x1 = int(np.clip((cx + reach) / scale - bx + 1, 0, bw))
        y0 = int(np.clip((cy - reach) / scale - by, 0, bh))
        y1 = int(np.clip((cy + reach) / scale - by + 1, 0, bh))
        if x1 <= x0 or y1 <= y0:
            continue
        gx, gy = np.broadcast_arrays(px[:, x0:x1] - cx, py[y0:y1] - cy)
        cover = np.clip(0.5 - distance(t, gx, gy, side, scene.outline) / scale, 0, 1)[..., None]
        patch = out[y0:y1, x0:x1]
        patch += cover * (np.array(t.rgb, np.float32) / 255 - patch)
    return out


def _jitter(rng, rgb, amount=5):
    return tuple(int(np.clip(c + rng.integers(-amount, amount + 1), 0, 255)) for c in rgb)


def _extent(t):
    """Half of a thing's width and height in parts of the canvas's shorter side."""
    wide = {"rectangle": (1.3, 0.68), "oval": (1.3, 0.75)}.get(t.shape, (1.0, 1.08))
    return wide[0] * t.r, wide[1] * t.r


def _fit(things, aspect):
    """Moves things into the frame and shrinks pairs that would touch. aspect: width / height."""
    sx, sy = min(1, 1 / aspect), min(1, aspect)  # of the shorter side, in parts of width and height
    for a in things:
        for b in things:
            if a is b:
                continue
            (ax, ay), (bx, by) = _extent(a), _extent(b)
            room = max(abs(a.x - b.x) / sx / (ax + bx), abs(a.y - b.y) / sy / (ay + by)) * 0.94
            if room < 1:
                a.r, b.r = a.r * room, b.r * room
    for t in things:
        ex, ey = _extent(t)
        t.x = float(np.clip(t.x, min(ex * sx + 0.015, 0.5), max(0.985 - ex * sx, 0.5)))
        t.y = float(np.clip(t.y, min(ey * sy + 0.015, 0.5), max(0.985 - ey * sy, 0.5)))


def _thing(rng, shape, colour, size, place, spot, wobble, shrink=1.0):
    r = SIZES[size] * shrink * rng.uniform(0.9, 1.1)
    x = spot[0] + rng.uniform(-1, 1) * wobble[0]
    y = spot[1] + rng.uniform(-1, 1) * wobble[1]
    return Thing(shape, colour, size, float(x), float(y), r, _jitter(rng, COLOURS[colour]), place)


def sample(rng, counts=(0.03, 0.45, 0.27, 0.25), train=True, aspect=16 / 9):
    """A random scene. counts: probability of 0, 1, 2, 3 things. In training, held-out
    combinations are redrawn. aspect: width / height of the canvas that it is meant for."""
    n = int(rng.choice(4, p=counts))
    u = rng.random()
    if u < 0.66 or (n == 0 and u < 0.72):
        name = str(rng.choice(NAMES))
        ground, rgb = ("plain", name, None), (_jitter(rng, COLOURS[name]),) * 2
    elif u < 0.91 or n == 0:
        a, b = (str(c) for c in rng.choice(NAMES, 2, replace=False))
        kind = "vertical" if rng.random() < 0.7 else "horizontal"
        ground, rgb = (kind, a, b), (_jitter(rng, COLOURS[a]), _jitter(rng, COLOURS[b]))
    else:
        ground, rgb = ("plain", None, None), (_jitter(rng, QUIET[rng.integers(len(QUIET))], 2),) * 2
    taken = {ground[1] or "white", ground[2]}
    scene = Scene([], ground, rgb)
    free = [c for c in NAMES if c not in taken]
    pick = lambda: (str(rng.choice(SHAPES)), str(rng.choice(free)),
                    str(rng.choice(["small", "medium", "large"], p=[0.2, 0.58, 0.22])))
    if n == 1:
        shape, colour, size = pick()
        while train and ground[0] == "plain" and ground[1] and held_out(shape, colour, ground[1]):
            shape, colour, size = pick()
        place = None if rng.random() < 0.55 else str(rng.choice(list(PLACES)))
        spot = PLACES[place or "center"]
        wobble = (0.1, 0.08) if place is None else (0.04, 0.04)
        scene.things.append(_thing(rng, shape, colour, size, place, spot, wobble))
    elif n == 2:
        scene.relation = str(rng.choice(["and", "and", "left", "right", "above", "below", "places"]))
        spots = {"and": [(0.28, 0.5), (0.72, 0.5)], "left": [(0.28, 0.5), (0.72, 0.5)],
                 "right": [(0.72, 0.5), (0.28, 0.5)], "above": [(0.5, 0.25), (0.5, 0.75)],
                 "below": [(0.5, 0.75), (0.5, 0.25)]}.get(scene.relation)
        places = [None, None]
        if spots is None:
            a = str(rng.choice(list(PLACES)))
            far = [p for p in PLACES if abs(PLACES[p][0] - PLACES[a][0]) > 0.25
                   or abs(PLACES[p][1] - PLACES[a][1]) > 0.5]
            places = [a, str(rng.choice(far))]
            spots = [PLACES[p] for p in places]
        for place, spot in zip(places, spots):
            shape, colour, size = pick()
            shrink = 0.7 if scene.relation in ("above", "below", "places") else 0.85
            scene.things.append(_thing(rng, shape, colour, size, place, spot, (0.03, 0.03), shrink))
    elif n == 3:
        scene.relation = str(rng.choice(["and", "spots"]))
        for place, x in zip(("left", "center", "right"), (0.18, 0.5, 0.82)):
            shape, colour, size = pick()
            place = place if scene.relation == "spots" else None
            scene.things.append(_thing(rng, shape, colour, size, place, (x, 0.5), (0.02, 0.04), 0.7))
    _fit(scene.things, aspect)
    return scene


def pastel(scene):
    """Mixes all colours of a scene with as much white."""
    pale = lambda rgb: tuple((c + 255) // 2 for c in rgb)
    scene.rgb = tuple(pale(c) for c in scene.rgb)
    for t in scene.things:
        t.rgb = pale(t.rgb)
