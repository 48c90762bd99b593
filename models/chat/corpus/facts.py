"""Colours, shapes, animals, opposites, lists and capitals: what a small child knows."""

from __future__ import annotations

import random

from .grammar import Intent, Turn, article, capital, expand, join, typed

COLOURS = {"the sky": "blue", "grass": "green", "the sun": "yellow", "snow": "white", "a banana": "yellow", "blood": "red", "the sea": "blue",
           "coal": "black", "a tomato": "red", "a carrot": "orange", "milk": "white", "a frog": "green", "a lemon": "yellow", "a strawberry": "red",
           "a pig": "pink", "the night": "black", "chocolate": "brown", "a leaf": "green", "a cherry": "red", "an orange": "orange",
           "a cucumber": "green", "a fire truck": "red", "a cloud": "white", "an elephant": "grey", "a plum": "purple", "a bear": "brown",
           "a polar bear": "white", "a pumpkin": "orange", "a swan": "white", "a raven": "black"}
SHAPES = {"triangle": 3, "square": 4, "rectangle": 4, "pentagon": 5, "hexagon": 6, "octagon": 8}
SOUNDS = {"cat": "meow", "dog": "woof", "cow": "moo", "duck": "quack", "sheep": "baa", "pig": "oink", "horse": "neigh", "lion": "roar",
          "owl": "hoot", "bee": "buzz", "mouse": "squeak", "frog": "croak", "snake": "hiss", "wolf": "howl", "rooster": "cock-a-doodle-doo", "bird": "tweet"}
LEGS = {"cat": 4, "dog": 4, "horse": 4, "bird": 2, "spider": 8, "ant": 6, "bee": 6, "duck": 2, "cow": 4, "snake": 0, "human": 2, "fish": 0,
        "elephant": 4, "chicken": 2, "mouse": 4, "beetle": 6, "butterfly": 6, "lion": 4}
BABIES = {"cat": "kitten", "dog": "puppy", "cow": "calf", "sheep": "lamb", "horse": "foal", "duck": "duckling", "lion": "cub", "frog": "tadpole",
          "pig": "piglet", "goat": "kid", "hen": "chick", "bear": "cub", "goose": "gosling"}
CAPITALS = {"France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "England": "London", "Japan": "Tokyo", "Austria": "Vienna",
            "Poland": "Warsaw", "Greece": "Athens", "Norway": "Oslo", "Sweden": "Stockholm", "Egypt": "Cairo", "Russia": "Moscow", "China": "Beijing",
            "Portugal": "Lisbon", "Ireland": "Dublin", "Finland": "Helsinki", "Denmark": "Copenhagen", "Hungary": "Budapest", "Canada": "Ottawa",
            "the USA": "Washington", "India": "New Delhi", "Turkey": "Ankara", "Switzerland": "Bern"}
FAR = ["Peru", "Chile", "Kenya", "Ghana", "Nepal", "Cuba", "Vietnam", "Thailand", "Mexico", "Brazil", "Argentina", "Belgium", "Iceland", "Ukraine",
       "Romania", "Bulgaria", "Serbia", "Croatia", "Morocco", "Nigeria", "Iran", "Iraq", "Israel", "Pakistan", "Mongolia", "Korea", "Australia",
       "New Zealand", "Colombia", "Bolivia", "Ecuador", "Malta", "Cyprus", "Estonia", "Latvia", "Lithuania", "Mali", "Chad", "Sudan", "Texas",
       "Bavaria", "Jamaica", "Panama", "Haiti", "Laos", "Oman", "Qatar", "Tonga", "Fiji", "the moon", "Scotland", "California"]
KINDS = {"fruits": ["apple", "banana", "pear", "plum", "cherry", "orange", "lemon", "peach", "grape", "melon"],
         "animals": ["cat", "dog", "horse", "cow", "lion", "bear", "mouse", "rabbit", "elephant", "wolf", "sheep"],
         "colours": ["red", "blue", "green", "yellow", "orange", "purple", "black", "white", "pink", "brown"],
         "vegetables": ["carrot", "potato", "onion", "cabbage", "pea", "bean", "cucumber", "pumpkin"],
         "shapes": ["circle", "square", "triangle", "rectangle", "star", "oval", "hexagon"],
         "birds": ["owl", "duck", "swan", "eagle", "raven", "penguin", "goose", "robin"],
         "tools": ["hammer", "saw", "axe", "drill", "brush", "shovel", "rope"],
         "drinks": ["water", "milk", "tea", "coffee", "juice", "lemonade"],
         "clothes": ["hat", "coat", "shirt", "sock", "shoe", "scarf", "glove"],
         "toys": ["ball", "doll", "kite", "puzzle", "top", "drum"]}
SINGLE = {"fruits": "fruit", "animals": "animal", "colours": "colour", "vegetables": "vegetable", "shapes": "shape", "birds": "bird",
          "tools": "tool", "drinks": "drink", "clothes": "piece of clothing", "toys": "toy"}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "2": 2, "3": 3, "4": 4, "5": 5}


def pair(table, left: str, right: str):
    """Slots from a random row of a table; `{cap}` is the left side with a capital."""
    rows = list(table.items())

    def slots(rng: random.Random) -> dict[str, str]:
        a, b = rng.choice(rows)
        return {left: str(a), right: str(b), "cap": capital(str(a)), "art": article(str(a))}
    return slots


INTENTS = [
    Intent("colour", ["What colour is {t}?", "What color is {t}?", "Which colour is {t}?", "Which color does {t} have?", "What is the colour of {t}?",
                      "Tell me the colour of {t}.", "What colour does {t} have?", "The colour of {t}?", "Do you know what colour {t} is?",
                   "Do you know the color of {t}?", "Say which colour {t} has.", "Which colour has {t}?", "{t}: what colour?", "Tell me what color {t} has.", "What color does {t} have?", "What is the usual colour of {t}?", "Give me the colour of {t}.", "Name the colour of {t}.", "Colour of {t}?"],
           ["Can you tell me the colour of {t}?", "What is the color of {t}?", "Which color is {t}?", "Do you know the colour of {t}?",
            "Tell me which colour {t} has.", "So what colour is {t}?"],
           ["{cap} is {c}."], r"^{cap} is {c}\.$", slots=pair(COLOURS, "t", "c"), weight=2.5),
    Intent("sides", ["How many sides does a {s} have?", "How many sides has a {s}?", "How many corners does a {s} have?", "A {s} has how many sides?",
                     "Number of sides of a {s}?", "Tell me how many sides a {s} has.", "How many corners has a {s}?",
                   "How many sides and corners does a {s} have?", "Say how many sides a {s} has.", "Can you tell me how many sides a {s} has?", "How many corners are in a {s}?", "Count the sides of a {s}.", "The number of corners of a {s}?", "Do you know how many corners a {s} has?", "What is a {s}?", "How many edges does a {s} have?"],
           ["Do you know how many sides a {s} has?", "How many sides are there in a {s}?", "Tell me how many corners a {s} has."],
           ["A {s} has {n} sides and {n} corners."], r"has {n} sides", slots=lambda r: {**pair(SHAPES, "s", "n")(r)}, weight=1.2),
    Intent("circle", ["How many corners does a circle have?", "What is a circle?", "Does a circle have corners?", "How many sides does a circle have?",
                   "How many corners has a circle?", "Can you tell me what a circle is?", "Are there corners in a circle?", "Do circles have corners?", "Is a circle round?", "Describe a circle.", "Does a circle have any sides?"],
           ["Tell me what a circle is.", "Has a circle any corners?"], ["A circle is round and has no corners."], r"round and has no corners", weight=0.5),
    Intent("sound", ["What does {art} say?", "What sound does {art} make?", "What does the {a} say?", "How does {art} go?", "Which sound does {art} make?",
                     "What noise does {art} make?", "What sound does the {a} make?",
                   "Do you know what sound {art} makes?", "Tell me what {art} says.", "What does {art} sound like?", "What is the sound of {art}?", "Which sound does the {a} make?", "Can you say what {art} says?", "How does {art} sound?", "Make the sound of {art}.", "Which sound comes from {art}?", "What noise does the {a} make?", "What noise comes from {art}?"],
           ["Which noise does {art} make?", "Do you know what {art} says?", "Tell me what sound {art} makes."],
           ["The {a} says {s}."], r"says {s}\.", slots=pair(SOUNDS, "a", "s"), weight=1.5),
    Intent("legs", ["How many legs does {art} have?", "How many legs has {art}?", "How many legs does the {a} have?", "Tell me how many legs {art} has.",
                    "Number of legs of {art}?",
                   "How many legs are on {art}?", "Can you tell me how many legs {art} has?", "The number of legs of {art}?", "{art} has how many legs?", "Count the legs of {art}.", "How many legs do you see on {art}?", "Say how many legs {art} has.", "And how many legs does {art} have?", "How many legs does one {a} have?"],
           ["Do you know how many legs {art} has?", "How many legs are there on {art}?", "So how many legs does {art} have?"],
           ["{cap2} has {n} legs."], r"has {n} legs", slots=lambda r: _legs(r), weight=1.5),
    Intent("baby", ["What is a baby {a} called?", "What do you call a baby {a}?", "What's a baby {a}?", "How do you call a young {a}?",
                    "What is the name of a baby {a}?", "What is a young {a} called?",
                   "Do you know what a baby {a} is called?", "How do you call a baby {a}?", "What is the name for a young {a}?", "What's the word for a young {a}?", "How is a young {a} called?", "The young of {art} is called what?", "What do we call a baby {a}?", "What are baby {a}s called?", "Give me the word for a baby {a}.", "Can you tell me what a young {a} is called?", "A baby {a} is called?", "Say what a baby {a} is called."],
           ["How is a baby {a} called?", "Tell me what a baby {a} is called.", "What is the word for a baby {a}?"],
           ["A baby {a} is called a {b}."], r"called a {b}\.", slots=pair(BABIES, "a", "b"), weight=1.2),
    Intent("capital", ["What is the capital of {c}?", "What's the capital of {c}?", "Capital of {c}?", "Which city is the capital of {c}?",
                       "Tell me the capital of {c}.", "Do you know the capital of {c}?", "Name the capital of {c}.", "What is the capital city of {c}?",
                   "Say the capital of {c}.", "What city is {c}'s capital?", "Give me the capital of {c}.", "Which capital does {c} have?", "Can you say the capital of {c}?", "The capital of {c}?", "Which town is the capital of {c}?", "Which one is the capital of {c}?", "Please name the capital of {c}.", "What is {c}'s capital?", "Could you tell me the capital of {c}?", "Of {c}, what is the capital?", "I want to know the capital of {c}.", "Could you name the capital city of {c}?"],
           ["Which is the capital of {c}?", "Can you name the capital of {c}?", "Can you tell me the capital of {c}?", "What city is the capital of {c}?"],
           ["The capital of {c} is {p}."], r"is {p}\.$", slots=pair(CAPITALS, "c", "p"), weight=2.5),
]


def _legs(rng):
    slots = pair(LEGS, "a", "n")(rng)
    slots["cap2"] = capital(slots["art"])
    slots["n"] = "no" if slots["n"] == "0" else slots["n"]
    return slots


def listing(rng: random.Random) -> list[Turn]:
    """Some members of a kind."""
    kind = rng.choice(list(KINDS))
    word, n = rng.choice(list(NUMBERS.items()))
    ask = rng.choice(["List {w} {k}.", "Name {w} {k}.", "Give me {w} {k}.", "Tell me {w} {k}.", "Can you name {w} {k}?", "Write {w} {k}.", "Say {w} {k}.",
                      "I need {w} {k}.", "Show me {w} {k}.", "Give me a list of {w} {k}.", "What are {w} {k}?", "{w} {k}",
                      "I would like {w} {k}.", "Do you know {w} {k}?", "Could you give me {w} {k}?", "Please write down {w} {k}."])
    ask = ask.replace("{w}", word).replace("{k}", kind)
    if rng.random() < 0.3:
        ask = ask.replace("colours", "colors")
    start = rng.randrange(len(KINDS[kind]))
    # One after the other, so that none comes twice.
    members = [KINDS[kind][(start + i) % len(KINDS[kind])] for i in range(n)]
    return [(typed(rng, ask), capital(join(members)) + ".")]


def far(rng: random.Random) -> list[Turn]:
    """The capital of a country that is not among the known ones."""
    capital_asks = next(intent.asks for intent in INTENTS if intent.name == "capital")
    return [(typed(rng, rng.choice(capital_asks).replace("{c}", rng.choice(FAR))), "I do not know that capital, sorry. I know only a few.")]


def member(rng: random.Random) -> list[Turn]:
    """Is a thing of a kind? What is it?"""
    kind = rng.choice(list(KINDS))
    word = rng.choice(KINDS[kind])
    name = word if kind in ("colours", "drinks") else article(word)
    if rng.random() < 0.4:
        ask = rng.choice(["What is {x}?", "What's {x}?", "What kind of thing is {x}?", "Tell me what {x} is."]).replace("{x}", name)
        return [(typed(rng, ask), f"{capital(name)} is {article(SINGLE[kind])}.")]
    other = kind if rng.random() < 0.5 else rng.choice(list(KINDS))
    if {kind, other} == {"animals", "birds"}:
        other = kind
    if word == "orange":
        kind = other = rng.choice(["fruits", "colours"])
        name = "an orange" if kind == "fruits" else "orange"
    ask = rng.choice(["Is {x} {k}?", "Is {x} {k} or not?", "Would you say {x} is {k}?"]).replace("{x}", name)
    ask = ask.replace("{k}", article(SINGLE[other]))
    answer = f"Yes, {name} is {article(SINGLE[kind])}." if other == kind else f"No, {name} is {article(SINGLE[kind])}."
    return [(typed(rng, ask), answer)]


def true_colour(rng: random.Random) -> list[Turn]:
    """Is the sky blue?"""
    thing, colour = rng.choice(list(COLOURS.items()))
    said = colour if rng.random() < 0.5 else rng.choice(["red", "blue", "green", "yellow", "white", "black", "brown", "pink"])
    answer = f"{'Yes' if said == colour else 'No'}, {thing} is {colour}."
    return [(typed(rng, rng.choice(["Is {t} {c}?", "Would you say {t} is {c}?"]).replace("{t}", thing).replace("{c}", said)), answer)]


def calendar(rng: random.Random) -> list[Turn]:
    """Days and months: after, before, all of them."""
    names, what = rng.choice([(DAYS, "day"), (MONTHS, "month")])
    if rng.random() < 0.25:
        whole = "days of the week" if what == "day" else "months of the year"
        ask = expand(rng, rng.choice(["Name the {w}.", "List the {w}.", "What are the {w}?", "Tell me the {w}.", "Say the {w}.", "Can you name the {w}?"]),
                     {"w": whole})
        return [(typed(rng, ask), join(names) + ".")]
    i = rng.randrange(len(names))
    after = rng.random() < 0.6
    word = "after" if after else "before"
    ask = rng.choice(["What {k} comes {w} {x}?", "Which {k} is {w} {x}?", "What comes {w} {x}?", "What is the {k} {w} {x}?", "Which {k} comes {w} {x}?",
                      "What {k} is {w} {x}?",
                      "So what comes {w} {x}?", "Can you tell me what comes {w} {x}?", "I want to know what comes {w} {x}.", "Which comes {w} {x}?", "Tell me what comes {w} {x}.", "Do you know which {k} comes {w} {x}?"]).replace("{k}", what).replace("{w}", word).replace("{x}", names[i])
    answer = names[(i + (1 if after else -1)) % len(names)]
    return [(typed(rng, ask), f"{answer} comes {word} {names[i]}.")]


MAKERS = [(0.8, far), (3.5, listing), (1.6, member), (0.9, true_colour), (3.0, calendar)]


HELD_LIST = ["Could you list {w} {k}?", "Would you name {w} {k}?", "I want {w} {k}."]
HELD_AFTER = ["Do you know what comes after {x}?", "And what comes after {x}?"]
HELD_TEMPLATES = [*(ask.replace("{w}", word) for ask in HELD_LIST for word in NUMBERS), *HELD_AFTER]


def probes(rng: random.Random) -> list[tuple[str, str, str]]:
    """Held-out wordings for lists, kinds and the calendar."""
    out = []
    for _ in range(24):
        kind = rng.choice(list(KINDS))
        word, n = rng.choice([("two", 2), ("three", 3), ("four", 4)])
        one = "(" + "|".join(KINDS[kind]) + ")"
        ask = rng.choice(HELD_LIST).replace("{w}", word).replace("{k}", kind)
        out.append(("facts", ask, rf"(?i)^{one}(, {one}){{{n - 2}}} and {one}\.$"))
    for _ in range(16):
        names = rng.choice([DAYS, MONTHS])
        i = rng.randrange(len(names))
        ask = rng.choice(HELD_AFTER).replace("{x}", names[i])
        out.append(("facts", ask, rf"{names[(i + 1) % len(names)]} comes after {names[i]}\.$"))
    return out
