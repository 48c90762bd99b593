"""Captions of scenes, in many phrasings; and the word-level tokenizer made from them."""
from scenes import NAMES, SHAPES

MAX_LENGTH = 40
SIZE_WORDS = {"small": ["small", "small", "little", "tiny"], "medium": ["", "", "", "", "medium"],
              "large": ["large", "large", "big", "huge"]}
SHAPE_WORDS = {"circle": ["circle"] * 5 + ["disc", "dot", "ball"], "oval": ["oval", "ellipse"],
               "cross": ["cross", "cross", "plus"], "diamond": ["diamond", "diamond", "rhombus"],
               "square": ["square"] * 4 + ["box"], "ring": ["ring"] * 3 + ["donut"]}
COLOUR_WORDS = {"gray": ["gray", "grey"], "purple": ["purple", "purple", "violet"],
                "cyan": ["cyan", "cyan", "turquoise"]}
PLACE_WORDS = {
    "center": ["in the center", "in the middle", "at the center", "in the centre"],
    "left": ["on the left", "at the left", "on the left side", "left"],
    "right": ["on the right", "at the right", "on the right side", "right"],
    "top": ["at the top", "on top", "near the top", "top"],
    "bottom": ["at the bottom", "near the bottom", "bottom"],
}
for _v, _vw in (("top", ("top", "upper")), ("bottom", ("bottom", "lower"))):
    for _h in ("left", "right"):
        PLACE_WORDS[f"{_v} {_h}"] = [p.format(w) for w in _vw for p in (
            "at the {} " + _h, "in the {} " + _h, "in the {} " + _h + " corner", "{} " + _h)]
RELATIONS = {
    "left": ["{a} to the left of {b}", "{a} left of {b}", "{a} on the left of {b}"],
    "right": ["{a} to the right of {b}", "{a} right of {b}", "{a} on the right of {b}"],
    "above": ["{a} above {b}", "{a} over {b}", "{a} on top of {b}"],
    "below": ["{a} below {b}", "{a} under {b}", "{a} beneath {b}"],
    "and": ["{a} and {b}", "{a} and {b}", "{a}, {b}", "{a} next to {b}", "{a} beside {b}"],
}
BEFORE = ["a picture of", "an image of", "a drawing of", "draw", "a photo of", "a painting of", "show me",
          "an illustration of", "picture of", "please draw", "create", "a scene with", "make",
          "generate", "i want", "a simple", "a flat", "there is", "a minimalist"]
AFTER = ["please", "simple", "minimalist", "flat", "high quality", "vector art", "clean", "centered",
         "highly detailed", "sharp", "."]


def _colour(rng, name):
    return str(rng.choice(COLOUR_WORDS.get(name, [name])))


def _thing(rng, t, article):
    words = [str(rng.choice(SIZE_WORDS[t.size])), _colour(rng, t.colour),
             str(rng.choice(SHAPE_WORDS.get(t.shape, [t.shape])))]
    unsaid = rng.random()
    if unsaid < 0.03:
        words[1] = ""
    elif unsaid < 0.045:
        words[2] = "shape"
    words = [w for w in words if w]
    if article:
        an = "an" if words[0][0] in "aeiou" else "a"
        words.insert(0, an if rng.random() < 0.9 else str(rng.choice(["one", "the"])))
    return " ".join(words)


def _ground(rng, scene):
    """The background as ' on a blue background' (or another form), '' where it has no name."""
    kind, a, b = scene.ground
    if a is None:
        return ""
    a = _colour(rng, a)
    an = "an" if a[0] in "aeiou" else "a"
    word = str(rng.choice(["background", "background", "background", "backdrop"]))
    if kind == "plain":
        return str(rng.choice([f" on {an} {a} {word}", f" on {an} {a} {word}", f", {a} {word}",
                               f" on {a}", f" with {an} {a} {word}", f" against {an} {a} {word}",
                               f" in front of {an} {a} {word}", f" on {an} plain {a} {word}"]))
    b = _colour(rng, b)
    if kind == "vertical":
        return str(rng.choice([f" on a gradient from {a} to {b}", f" on a gradient from {a} to {b}",
                               f" on {an} {a} to {b} gradient", f", {a} to {b} gradient {word}",
                               f" on a gradient background from {a} to {b}",
                               f" on a vertical gradient from {a} to {b}"]))
    return str(rng.choice([f" on a horizontal gradient from {a} to {b}",
                           f" on a gradient from {a} on the left to {b} on the right"]))


def caption(rng, scene):
    """One of the many captions of a scene. rng: numpy Generator."""
    article = rng.random() < 0.75
    a = [_thing(rng, t, article) for t in scene.things]
    ground = _ground(rng, scene)
    for i, t in enumerate(scene.things):
        if t.place is not None:
            a[i] += " " + str(rng.choice(PLACE_WORDS[t.place]))
        elif t.place is None and len(a) == 1 and t.size == "medium" and abs(t.x - 0.5) < 0.04 \
                and abs(t.y - 0.5) < 0.04 and rng.random() < 0.2:
            a[i] += " " + str(rng.choice(PLACE_WORDS["center"]))
    if not a:
        text = ground.lstrip(", ").removeprefix("on ").removeprefix("with ")
        text = text.removeprefix("against ").removeprefix("in front of ")
        if rng.random() < 0.3:
            text = "an empty picture " + ground.strip(" ,") if ground.startswith(" ") else text
    elif len(a) == 1:
        text = a[0] + ground
        if ground.startswith(" on ") and article and rng.random() < 0.12:
            text = ground.removeprefix(" on ") + " with " + a[0]
    elif len(a) == 2:
        forms = RELATIONS.get(scene.relation, RELATIONS["and"][:3])
        text = str(rng.choice(forms)).format(a=a[0], b=a[1]) + ground
    else:
        text = f"{a[0]}, {a[1]} and {a[2]}{ground}" if rng.random() < 0.8 else \
            f"{a[0]}, {a[1]}, {a[2]}{ground}"
    if rng.random() < 0.2:
        text = str(rng.choice(BEFORE)) + " " + text
    if rng.random() < 0.1:
        text = text + ", " + str(rng.choice(AFTER))
    return text


def vocabulary():
    """Every word that `caption` can say, sorted, after the three special tokens."""
    words = set()
    for text in (BEFORE + AFTER + NAMES + SHAPES + sum(SIZE_WORDS.values(), [])
                 + sum(SHAPE_WORDS.values(), []) + sum(COLOUR_WORDS.values(), [])
                 + sum(PLACE_WORDS.values(), []) + sum(RELATIONS.values(), [])):
        words |= set(text.replace("{a}", "").replace("{b}", "").split())
    words |= set("a an one the and on with against in front of to from gradient vertical horizontal "
                 "plain background backdrop empty picture , . two three shapes shape".split())
    return ["<pad>", "<s>", "<unk>"] + sorted(w for w in (x.strip(",") or "," for x in words) if w)


def make_tokenizer():
    """Lowercase, split at spaces and punctuation, one id per word, <s> first, padded to 40."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    tok = Tokenizer(models.WordLevel({w: i for i, w in enumerate(vocabulary())}, unk_token="<unk>"))
    tok.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tok.add_special_tokens(["<pad>", "<s>", "<unk>"])
    tok.enable_truncation(MAX_LENGTH)
    tok.enable_padding(pad_id=0, pad_token="<pad>", length=MAX_LENGTH)
    return tok
