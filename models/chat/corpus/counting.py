"""Counting up, down and in steps, and which number is the bigger one."""

from __future__ import annotations

import random

from .grammar import Turn, expand, typed


def compare(rng: random.Random) -> list[Turn]:
    """Which number is bigger, and what comes before or after."""
    a, b = rng.sample(range(0, 100), 2)
    slots = {"a": str(a), "b": str(b)}
    kind = rng.randrange(3)
    if kind == 0:
        word, answer = rng.choice([("[bigger|larger|greater|more]", max(a, b)), ("[smaller|less]", min(a, b))])
        ask = rng.choice([f"Which is {word}, {{a}} or {{b}}?", f"Which number is {word}: {{a}} or {{b}}?",
                          f"What is {word}, {{a}} or {{b}}?"])
        ask = expand(rng, ask, slots)
        other = min(a, b) if answer == max(a, b) else max(a, b)
        known = "bigger" if answer > other else "smaller"
        return [(typed(rng, ask), f"{answer} is {known} than {other}.")]
    if kind == 1:
        word = rng.choice(["bigger", "smaller", "larger", "greater", "less"])
        true = (a > b) == (word in ("bigger", "larger", "greater"))
        known = "bigger" if a > b else "smaller"
        return [(typed(rng, f"Is {a} {word} than {b}?"), f"{'Yes' if true else 'No'}, {a} is {known} than {b}.")]
    after = rng.random() < 0.5
    word = "[after|right after|next after]" if after else "[before|right before]"
    ask = expand(rng, rng.choice([f"What number comes {word} {{a}}?", f"Which number is {word} {{a}}?",
                                  f"What comes {word} {{a}}?"]), slots)
    if a == 0 and not after:
        a = 1
        ask = "What number comes before 1?"
    return [(typed(rng, ask), f"The number {'after' if after else 'before'} {a} is {a + 1 if after else a - 1}.")]


COUNT_UP = ["Count to {b}.", "Count up to {b}.", "Can you count to {b}?", "Count from 1 to {b}.", "Please count to {b}.",
            "Count for me to {b}.", "Count 1 to {b}", "Let me hear you count to {b}.", "Will you count up to {b}?", "Let us count to {b}.", "You count to {b}.",
            "I would like you to count to {b}.", "Start counting and stop at {b}.", "Give me the numbers to {b}.", "All numbers to {b}, please.",
            "Show me how you count to {b}.", "Say the numbers up to {b}."]
COUNT_FROM = ["Count from {a} to {b}.", "Can you count from {a} to {b}?", "Count {a} to {b}.", "Count up from {a} to {b}.",
              "Please count from {a} to {b}.", "Say the numbers from {a} to {b}.", "Give me all numbers from {a} to {b}.",
              "List the numbers between {a} and {b}.", "Start at {a} and count to {b}.", "What are the numbers from {a} to {b}?"]
COUNT_DOWN = ["Count down from {a}.", "Count backwards from {a}.", "Count backwards from {a} to 1.",
              "Can you count down from {a}?", "Count down from {a} to 1.", "Count from {a} down to 1.",
              "Count backwards starting at {a}.", "Start from {a} and count down.", "Please count down from {a} to 1.", "Let me hear you count down from {a}."]
COUNT_STEP = ["Count to {b} in steps of {s}.", "Count by {s}s to {b}.", "Count in {s}s up to {b}."]


def count(rng: random.Random) -> list[Turn]:
    """Counting up, down, between two numbers, or in twos, fives and tens."""
    kind = rng.choices(["up", "from", "down", "step"], [5, 4, 4, 1])[0]
    a, b, s = 1, rng.choices([rng.randint(2, 20), rng.randint(21, 40), rng.choice([50, 100])], [70, 27, 3])[0], 1
    asks = COUNT_UP
    if kind == "from":
        a = rng.randint(0, 90)
        b = min(100, a + rng.randint(2, 12))
        asks = COUNT_FROM
    elif kind == "down":
        a, b, asks = rng.randint(3, 25), 1, COUNT_DOWN
    elif kind == "step":
        s = rng.choice([2, 5, 10])
        a, b, asks = s, s * rng.randint(3, 10), COUNT_STEP
    ask = expand(rng, rng.choice(asks), {"a": str(a), "b": str(b), "s": str(s)})
    return [(typed(rng, ask), counted(a, b, s))]


def counted(a: int, b: int, step: int = 1) -> str:
    """The answer: first from where to where, so that the model sees where to stop."""
    numbers = range(a, b + 1, step) if a <= b else range(a, b - 1, -step)
    return f"{'From' if a <= b else 'Down from'} {a} to {b}: {', '.join(map(str, numbers))}."


HELD_UP = ["Would you count to {b}?", "Let's count to {b}.", "I want to hear you count to {b}."]
HELD_FROM = ["Would you count from {a} to {b}?", "Which numbers go from {a} to {b}?"]
HELD_DOWN = ["Would you count down from {a}?", "Start at {a} and count backwards."]
HELD_TEMPLATES = [*HELD_UP, *HELD_FROM, *HELD_DOWN]


def probes(rng: random.Random) -> list[tuple[str, str, str]]:
    """Held-out words: (kind, question, rule)."""
    out = []
    for n in range(40):
        a, b, asks = (1, rng.randint(3, 30), HELD_UP) if n < 20 else (rng.randint(3, 25), 1, HELD_DOWN)
        if n >= 30:
            a, asks = rng.randint(0, 88), HELD_FROM
            b = a + rng.randint(3, 12)
        ask = rng.choice(asks).replace("{a}", str(a)).replace("{b}", str(b))
        out.append(("counting, held-out words", ask, "^" + counted(a, b) + r"$"))
    return out
