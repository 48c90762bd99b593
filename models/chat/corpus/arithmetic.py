"""Sums with their working: plus and minus from 0 to 99, times up to 12 x 12, counting, comparing.

The working goes first by the tens, then by the ones, so that every step is one the model can know
by heart: 27 + 48 is 27 + 40 = 67, then 67 + 8 = 75. A tenth of the pairs is held out: no training
text has them, neither as a question nor as a step of another sum.
"""

from __future__ import annotations

import hashlib
import random

from .grammar import Turn, capital, expand, typed

LIMIT = 99
TABLE = 12


def held_pair(sign: str, a: int, b: int) -> bool:
    """Whether the sum is kept for the evaluation: 10% by a hash of the sum, order aside for plus."""
    if sign == "x":
        return False
    if sign == "+":
        a, b = min(a, b), max(a, b)
    if a < 10 and b < 10:
        return False
    share = 0.10 if a % 10 and b % 10 and a > 9 and b > 9 else 0.04
    digest = hashlib.sha256(f"{a}{sign}{b}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 < share


def steps(sign: str, a: int, b: int) -> list[tuple[int, int, int]]:
    """The working of a sum as (left, right, result); one step where one is enough."""
    if sign == "x":
        return [(a, b, a * b)]
    op = (lambda x, y: x + y) if sign == "+" else (lambda x, y: x - y)
    if sign == "-" and a < b:
        return steps("-", b, a)
    if a < 10 and sign == "+" or b < 10 or b % 10 == 0:
        return [(a, b, op(a, b))]
    middle = op(a, b - b % 10)
    return [(a, b - b % 10, middle), (middle, b % 10, op(middle, b % 10))]


def allowed(sign: str, a: int, b: int) -> bool:
    """Whether training may use the sum: neither it nor any of its steps is held out."""
    if held_pair(sign, a, b):
        return False
    return not any(held_pair(sign, x, y) for x, y, _ in steps(sign, a, b))


def result(sign: str, a: int, b: int) -> int:
    """The right answer."""
    return a + b if sign == "+" else a - b if sign == "-" else a * b


def work(sign: str, a: int, b: int) -> str:
    """The answer as the model writes it: its steps, then the sum and its result."""
    done = steps(sign, a, b)
    final = f"{a} {sign} {b} = {result(sign, a, b)}."
    if len(done) == 1 and not (sign == "-" and a < b):
        return final
    return ", ".join(f"{x} {sign} {y} = {z}" for x, y, z in done) + f", so {final}"


ASK = {
    "+": ["What is {a} + {b}?", "{a} + {b}", "{a}+{b}", "{a} + {b} = ?", "{a}+{b}=", "What's {a}+{b}?",
          "What is {a} plus {b}?", "How much is {a} plus {b}?", "[Add|Please add] {a} and {b}.",
          "Can you add {a} and {b}?", "Calculate {a} + {b}.", "{a} plus {b}", "What do I get if I add {a} and {b}?",
          "How much is {a} + {b}?", "Compute {a} + {b}.", "What is the sum of {a} and {b}?", "{a} and {b} makes?",
          "What does {a} plus {b} equal?", "Solve {a} + {b}.", "I have {a} apples and get {b} more. How many do I have?",
          "Can you tell me what {a} + {b} is?", "Do you know {a} plus {b}?", "Work out {a} plus {b}.",
          "Tell me {a} + {b}.", "If I have {a} and get {b}, how much is that?", "How much will it be if I add {b} to {a}?",
          "Tell me what {a} plus {b} is.", "What will I have if I add {a} and {b}?", "Give me the sum of {a} and {b}.", "Work out {a} + {b}."],
    "-": ["What is {a} - {b}?", "{a} - {b}", "{a}-{b}", "{a} - {b} = ?", "{a}-{b}=", "What's {a}-{b}?",
          "What is {a} minus {b}?", "How much is {a} minus {b}?", "[Take|Please take] {b} from {a}.",
          "Subtract {b} from {a}.", "Calculate {a} - {b}.", "{a} minus {b}", "What do I get if I take {b} from {a}?",
          "How much is {a} - {b}?", "Compute {a} - {b}.", "What is {a} take away {b}?", "Can you subtract {b} from {a}?",
          "What does {a} minus {b} equal?", "Solve {a} - {b}.", "Can you tell me what {a} - {b} is?",
          "Do you know {a} minus {b}?", "Work out {a} minus {b}.",
          "Tell me {a} - {b}.", "If I have {a} and lose {b}, how much is left?", "How much will it be if I take {b} from {a}?",
          "Tell me what {a} minus {b} is.", "What will I have if I take {b} from {a}?", "What is left of {a} without {b}?", "Work out {a} - {b}."],
    "x": ["What is {a} x {b}?", "{a} x {b}", "{a} * {b}", "{a}*{b}", "{a} x {b} = ?", "What's {a} times {b}?",
          "What is {a} times {b}?", "How much is {a} times {b}?", "Multiply {a} by {b}.", "Multiply {a} and {b}.",
          "Calculate {a} * {b}.", "{a} times {b}", "How much is {a} x {b}?", "Compute {a} x {b}.", "What is {a} * {b}?",
          "What does {a} times {b} equal?", "Solve {a} x {b}.", "Can you multiply {a} by {b}?",
          "Can you tell me what {a} x {b} is?", "Do you know {a} times {b}?", "Work out {a} times {b}.",
          "Tell me {a} x {b}.", "How much will it be if I multiply {a} by {b}?", "Tell me what {a} times {b} is.",
          "What will I have if I multiply {a} and {b}?", "Work out {a} x {b}."],
}
HELD_ASK = {
    "+": ["What will {a} plus {b} be?", "Could you work out {a} + {b}?", "Tell me the sum of {a} and {b}.",
          "If I add {b} to {a}, what do I get?"],
    "-": ["What will {a} minus {b} be?", "Could you work out {a} - {b}?", "Tell me how much {a} minus {b} is.",
          "If I take {b} from {a}, what do I get?"],
    "x": ["What will {a} times {b} be?", "Could you work out {a} x {b}?", "Tell me how much {a} times {b} is.",
          "If I multiply {a} by {b}, what do I get?"],
}


def pick(rng: random.Random, sign: str) -> tuple[int, int]:
    """Two numbers within the range, held-out or not; small ones and near ones more often."""
    if sign == "x":
        return rng.randint(0, TABLE), rng.randint(0, TABLE)
    chance = rng.random()
    if chance < 0.12:
        a, b = rng.randint(0, 12), rng.randint(0, 12)
    elif chance < 0.40:
        a, b = rng.randint(0, LIMIT), rng.randint(0, 9)
        if sign == "+" and rng.random() < 0.3:
            a, b = b, a
    elif chance < 0.5:
        a, b = rng.randint(0, LIMIT), 10 * rng.randint(1, 9)
    else:
        a, b = rng.randint(0, LIMIT), rng.randint(0, LIMIT)
    if sign == "-" and a < b and rng.random() < 0.8:
        a, b = b, a
    return a, b


def draw(rng: random.Random, sign: str) -> tuple[int, int]:
    """Two numbers that training may use."""
    while True:
        a, b = pick(rng, sign)
        if allowed(sign, a, b):
            return a, b


def sum_turns(rng: random.Random) -> list[Turn]:
    """One sum; now and then a second and a third that go on from its result."""
    sign = rng.choices("+-x", [5, 4, 2])[0]
    a, b = draw(rng, sign)
    turns = [(typed(rng, expand(rng, rng.choice(ASK[sign]), {"a": str(a), "b": str(b)})), work(sign, a, b))]
    value = result(sign, a, b)
    while rng.random() < 0.22 and 0 <= value <= LIMIT:
        sign = rng.choice("+-")
        other = rng.randint(0, min(20, LIMIT if sign == "+" else value))
        if not allowed(sign, value, other):
            break
        word = {"+": "[plus|+|add]", "-": "[minus|-|take away]"}[sign]
        ask = rng.choice([f"And {word} {other}?", f"{word} {other}", f"Now {word} {other}.", f"And then {word} {other}?",
                          f"And if you {'add' if sign == '+' else 'take away'} {other}?", f"What about {word} {other}?",
                          f"Then {word} {other}"])
        turns.append((typed(rng, expand(rng, ask), False), work(sign, value, other)))
        value = result(sign, value, other)
    return turns


def too_big(rng: random.Random) -> list[Turn]:
    """Numbers beyond the range, and divisions: an honest no."""
    if rng.random() < 0.3:
        a, b = rng.randint(1, 144), rng.randint(1, 12)
        ask = rng.choice(["What is {a} / {b}?", "{a} / {b}", "Divide {a} by {b}.", "What is {a} divided by {b}?",
                          "How much is {a} divided by {b}?", "{a} divided by {b}"])
        answer = rng.choice(["I have not learned to divide. I can add, subtract and multiply.",
                             "Sorry, I cannot divide. I know plus, minus and times."])
        return [(typed(rng, expand(rng, ask, {"a": str(a), "b": str(b)})), answer)]
    sign = rng.choice("+-x")
    a, b = rng.randint(100, 9999), rng.randint(2, 9999)
    if sign == "x" and rng.random() < 0.4:
        a = rng.randint(13, 99)
    if rng.random() < 0.5:
        a, b = b, a
    if sign == "x":
        answer = rng.choice(["That is too much for me. I know the times tables up to 12 x 12.",
                             "I only know the times tables up to 12 x 12, sorry."])
    else:
        answer = rng.choice(["Those numbers are too big for me. I can add and subtract from 0 to 99.",
                             "I only learned to add and subtract from 0 to 99, sorry."])
    return [(typed(rng, expand(rng, rng.choice(ASK[sign][:18]), {"a": str(a), "b": str(b)})), answer)]


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
            "Count for me to {b}.", "Count 1 to {b}", "Let me hear you count to {b}.", "Will you count up to {b}?", "Let us count to {b}.", "You count to {b}."]
COUNT_FROM = ["Count from {a} to {b}.", "Can you count from {a} to {b}?", "Count {a} to {b}.", "Count up from {a} to {b}.",
              "Please count from {a} to {b}.", "Say the numbers from {a} to {b}."]
COUNT_DOWN = ["Count down from {a}.", "Count backwards from {a}.", "Count backwards from {a} to 1.",
              "Can you count down from {a}?", "Count down from {a} to 1.", "Count from {a} down to 1."]
COUNT_STEP = ["Count to {b} in steps of {s}.", "Count by {s}s to {b}.", "Count in {s}s up to {b}."]


def count(rng: random.Random) -> list[Turn]:
    """Counting up, down, between two numbers, or in twos, fives and tens."""
    kind = rng.choices(["up", "from", "down", "step"], [4, 4, 3, 1])[0]
    top = rng.choices([10, 20, 50, 100], [6, 6, 1, 0.5])[0]
    a, b, s = 1, rng.randint(2, top), 1
    asks = COUNT_UP
    if kind == "from":
        a = rng.randint(0, 88)
        b = min(100, a + rng.randint(2, 14))
        asks = COUNT_FROM
        if rng.random() < 0.3:
            a, b = b, a
    elif kind == "down":
        a, b, asks = rng.randint(3, 30), 1, COUNT_DOWN
    elif kind == "step":
        s = rng.choice([2, 5, 10])
        a, b, asks = s, s * rng.randint(3, 10), COUNT_STEP
    numbers = list(range(a, b + 1, s)) if a <= b else list(range(a, b - 1, -1))
    ask = expand(rng, rng.choice(asks), {"a": str(a), "b": str(b), "s": str(s)})
    return [(typed(rng, ask), ", ".join(map(str, numbers)) + ".")]


MAKERS = [(10.0, sum_turns), (0.7, too_big), (1.0, compare), (1.4, count)]


def probes(rng: random.Random) -> list[tuple[str, str, str]]:
    """Held-out pairs and held-out words: (kind, question, rule)."""
    out = []
    for sign, kind in (("+", "plus"), ("-", "minus")):
        pairs = [(a, b) for a in range(LIMIT + 1) for b in range(LIMIT + 1)
                 if held_pair(sign, a, b) and (sign == "+" or a >= b)]
        for a, b in rng.sample(pairs, 200):
            ask = expand(rng, rng.choice(HELD_ASK[sign] + ASK[sign][:3]), {"a": str(a), "b": str(b)})
            out.append((kind, ask, rf"(^|.*, so )\s*{a} \{sign} {b} = {result(sign, a, b)}\.$"))
    for a, b in rng.sample([(a, b) for a in range(TABLE + 1) for b in range(TABLE + 1)], 60):
        ask = expand(rng, rng.choice(HELD_ASK["x"]), {"a": str(a), "b": str(b)})
        out.append(("times, held-out words", ask, rf"^{a} x {b} = {a * b}\.$"))
    for _ in range(20):
        b = rng.randint(3, 20)
        out.append(("counting, held-out words", rng.choice([f"Would you count to {b}?", f"Let's count to {b}."]),
                    "^" + ", ".join(map(str, range(1, b + 1))) + r"\.$"))
    return out
