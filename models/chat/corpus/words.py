"""Words: opposites, spelling, repeating, plurals, rhymes."""

from __future__ import annotations

import random

from .grammar import Intent, Turn, capital, typed

OPPOSITES = [("big", "small"), ("hot", "cold"), ("up", "down"), ("fast", "slow"), ("happy", "sad"), ("old", "young"), ("good", "bad"), ("day", "night"),
             ("long", "short"), ("hard", "soft"), ("light", "dark"), ("left", "right"), ("open", "closed"), ("full", "empty"), ("high", "low"),
             ("wet", "dry"), ("rich", "poor"), ("strong", "weak"), ("loud", "quiet"), ("clean", "dirty"), ("thick", "thin"), ("near", "far"),
             ("early", "late"), ("in", "out"), ("yes", "no"), ("black", "white"), ("first", "last"), ("begin", "end"), ("love", "hate"),
             ("true", "false"), ("heavy", "light"), ("wide", "narrow"), ("deep", "shallow"), ("sweet", "sour"), ("easy", "difficult"),
             ("inside", "outside"), ("win", "lose"), ("buy", "sell"), ("push", "pull"), ("summer", "winter")]
PLURALS = {"cat": "cats", "dog": "dogs", "house": "houses", "mouse": "mice", "child": "children", "foot": "feet", "tooth": "teeth", "man": "men",
           "woman": "women", "box": "boxes", "city": "cities", "baby": "babies", "leaf": "leaves", "wolf": "wolves", "sheep": "sheep", "fish": "fish",
           "goose": "geese", "tree": "trees", "book": "books", "knife": "knives", "bus": "buses", "door": "doors", "apple": "apples", "fox": "foxes"}
SPELL = ["cat", "dog", "house", "tree", "apple", "bird", "mouse", "door", "red", "blue", "green", "hello", "lintel", "sun", "moon", "star", "fish",
         "book", "water", "milk", "cake", "king", "bear", "frog", "owl", "train", "boat", "hat", "ball", "story", "table", "chair", "yellow", "black",
         "white", "friend", "school", "night", "light", "rain", "snow", "fox", "duck", "horse", "lion", "bread", "music", "model", "gateway", "banana"]
NOUNS = ["cat", "dog", "fish", "tree", "moon", "star", "house", "door", "bird", "apple", "river", "stone", "boat", "hill", "lamp", "cake", "fox", "king",
         "bell", "cloud", "garden", "window", "book", "key", "hat", "spoon", "road", "bridge", "snow", "wind", "banana", "rocket", "table", "monkey",
         "dragon", "pancake", "coffee", "gateway", "lintel", "robot", "pencil", "mountain", "tomato", "candle", "mirror", "pillow", "tiger"]
MIDDLE = ["red", "blue", "green", "little", "big", "old", "happy", "quiet", "round", "golden", "tiny", "warm", "cold", "funny", "brave", "slow", "purple"]
VERBS = ["sings", "runs", "sleeps", "jumps", "shines", "falls", "dances", "waits", "laughs", "flies", "smiles", "swims", "eats", "reads", "rolls"]


def _opposite(rng):
    a, b = rng.choice(OPPOSITES)
    if a == "heavy" or rng.random() < 0.5 and b != "light":
        return {"a": a, "b": b}
    return {"a": b, "b": a} if b != "light" else {"a": a, "b": b}


INTENTS = [
    Intent("opposite", ["What is the opposite of {a}?", "What's the opposite of {a}?", "Opposite of {a}?", "Tell me the opposite of {a}.",
                        "The opposite of {a}", "What is the reverse of {a}?", "Give me the opposite of {a}.", "Which word is the opposite of {a}?",
                        "Name the opposite of {a}.", "Do you know the opposite of {a}?",
                   "Give the opposite of {a}.", "Could you tell me the opposite of {a}?", "What is opposite to {a}?", "Which word means the opposite of {a}?", "And the opposite of {a}?", "Can you name the opposite of {a}?", "I need the opposite of {a}.", "Which word is opposite to {a}?", "What's the contrary of {a}?", "Is there an opposite of {a}?", "And what is the opposite of {a}?"],
           ["Can you give me the opposite of {a}?", "What word is the opposite of {a}?", "Say the opposite of {a}.", "Can you tell me the opposite of {a}?",
            "Which is the opposite of {a}?", "So what is the opposite of {a}?"],
           ["The opposite of {a} is {b}."], r"^The opposite of {a} is {b}\.$", slots=_opposite, weight=3),
    Intent("plural", ["What is the plural of {a}?", "Plural of {a}?", "What's the plural of {a}?", "Tell me the plural of {a}.", "One {a}, two?",
                      "Give me the plural of {a}.", "Do you know the plural of {a}?",
                   "What is the plural form of {a}?", "Name the plural of {a}.", "Which word is the plural of {a}?", "How do you write the plural of {a}?", "Could you tell me the plural of {a}?", "The plural of {a}?", "Can you give me the plural of {a}?", "What do you call more than one {a}?", "And the plural of {a}?", "What is more than one {a}?", "Write the plural of {a}."],
           ["Which is the plural of {a}?", "Can you tell me the plural of {a}?", "Say the plural of {a}."],
           ["The plural of {a} is {b}."], r"is {b}\.$", slots=lambda r: dict(zip("ab", r.choice(list(PLURALS.items())))), weight=1.2),
    Intent("spell", ["Spell {a}.", "How do you spell {a}?", "Can you spell {a}?", "Spell the word {a}.", "How is {a} spelled?", "Please spell {a}.",
                     "How do I spell {a}?",
                   "Can you tell me how to spell {a}?", "Show me how to spell {a}.", "Tell me how {a} is spelled.", "Spell {a} for me.", "How do you write {a}, letter by letter?", "Spell out {a}.", "Say the letters of {a}.", "What are the letters of {a}?", "Do you know how to spell {a}?", "Would you spell {a}?", "I want to know how to spell {a}."],
           ["Could you spell {a}?", "Tell me how to spell {a}.", "Would you spell the word {a}?"],
           ["{s}."], r"(?i)^{s}\.$", slots=lambda r: (lambda w: {"a": w, "s": "-".join(w)})(r.choice(SPELL)), weight=1.5),
]


def phrase(rng: random.Random) -> str:
    """A short phrase that has likely never been said."""
    kind = rng.randrange(6)
    if kind == 0:
        return " ".join(rng.sample(NOUNS, rng.randint(1, 4)))
    if kind == 1:
        return f"the {rng.choice(MIDDLE)} {rng.choice(NOUNS)} {rng.choice(VERBS)}"
    if kind == 2:
        return f"I like the {rng.choice(MIDDLE)} {rng.choice(NOUNS)}"
    if kind == 3:
        return " ".join(str(rng.randint(0, 99)) for _ in range(rng.randint(1, 3)))
    if kind == 4:
        return f"{rng.choice(['hello', 'good morning', 'yes', 'bye', 'look'])} {rng.choice(NOUNS)}"
    return f"{rng.choice(NOUNS)} and {rng.choice(NOUNS)}"


SAY = ["Repeat after me: {p}", "Say {p}", "Repeat: {p}", "Say: {p}", "Please repeat: {p}", "Repeat this: {p}", "Write: {p}", "Echo {p}",
       "Say this: {p}", "Say \"{p}\"", "Repeat the words {p}", "Can you say {p}?", "Repeat \"{p}\"", "Write the words {p}",
       "Now repeat: {p}", "Can you say: {p}", "Say after me: {p}", "I want you to say {p}", "Please write {p}", "Could you say {p}?"]
HELD_SAY = ["Please repeat after me: {p}", "Now say {p}", "Please say: {p}", "Can you repeat {p}?"]
HELD_TEMPLATES = HELD_SAY


def repeat(rng: random.Random) -> list[Turn]:
    """Say it again."""
    words = phrase(rng)
    if rng.random() < 0.3:
        words = capital(words)
    ask = rng.choice(SAY).replace("{p}", words)
    if not ask.endswith("?") and rng.random() < 0.4:
        ask += "."
    if rng.random() < 0.3:
        ask = ask[0].lower() + ask[1:]
    return [(ask, capital(words) + ".")]


MAKERS = [(5.0, repeat)]


def probes(rng: random.Random) -> list[tuple[str, str, str]]:
    """Held-out wordings around new phrases."""
    out = []
    for _ in range(24):
        words = phrase(rng)
        out.append(("repeat", rng.choice(HELD_SAY).replace("{p}", words), rf"(?i)^{words}\.$"))
    return out
