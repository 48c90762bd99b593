"""Sums with their working: plus and minus from 0 to 99, times up to 12 x 12.

The sum is said again first, then the working goes column by column, as children learn it: 27 + 48 is
7 + 8 = 15 for the ones, then 1 + 2 + 4 = 7 for the tens. Every step has one-digit numbers (or a borrowed ten), so the model can
know each step by heart and still work out sums that it has never seen. A tenth of the pairs is
held out: no training text has them.
"""

from __future__ import annotations

import hashlib
import random

from . import counting
from .grammar import Turn, expand, typed

LIMIT = 99
TABLE = 12


def held_pair(sign: str, a: int, b: int) -> bool:
    """Whether the sum is kept for the evaluation: 10% by a hash of the sum, order aside.

    Only sums with a two-digit number, and none that is a column of another sum (12 - 7).
    """
    low, high = min(a, b), max(a, b)
    if sign == "x" or high < 10 or sign == "-" and high < 20 and low < 10:
        return False
    digest = hashlib.sha256(f"{high}{sign}{low}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 < 0.10


def result(sign: str, a: int, b: int) -> int:
    """The right answer."""
    return a + b if sign == "+" else a - b if sign == "-" else a * b


def columns(sign: str, a: int, b: int) -> str:
    """The working of a plus, or of a minus with a >= b: ones, then tens with what was carried or borrowed."""
    (tens_a, a), (tens_b, b) = divmod(a, 10), divmod(b, 10)
    if sign == "+":
        ones, carry = a + b, "1 + " if a + b > 9 else ""
        tens = tens_a + tens_b + (a + b) // 10
        return f"ones {a} + {b} = {ones}, tens {carry}{tens_a} + {tens_b} = {tens}"
    borrow = a < b
    tens = tens_a - tens_b - borrow
    return f"ones {a + 10 * borrow} - {b} = {a + 10 * borrow - b}, tens {tens_a} - {'1 - ' if borrow else ''}{tens_b} = {tens}"


def work(sign: str, a: int, b: int) -> str:
    """The answer as the model writes it: the sum, its working where there is any, and its result."""
    if sign == "x" or a < 10 and b < 10 and (sign == "+" or a >= b):
        return f"{a} {sign} {b} = {result(sign, a, b)}."
    if sign == "-" and a < b:
        return f"{a} - {b} is below zero. {work(sign, b, a)[:-1]} and {a} - {b} = {a - b}."
    return f"{a} {sign} {b}: {columns(sign, a, b)}, so {a} {sign} {b} = {result(sign, a, b)}."


ASK = {
    "+": ["What is {a} + {b}?", "{a} + {b}", "{a}+{b}", "{a} + {b} = ?", "{a}+{b}=", "What's {a}+{b}?",
          "What is {a} plus {b}?", "How much is {a} plus {b}?", "[Add|Please add] {a} and {b}.",
          "Can you add {a} and {b}?", "Calculate {a} + {b}.", "{a} plus {b}", "What do I get if I add {a} and {b}?",
          "How much is {a} + {b}?", "Compute {a} + {b}.", "What is the sum of {a} and {b}?", "{a} and {b} makes?",
          "What does {a} plus {b} equal?", "Solve {a} + {b}.", "I have {a} apples and get {b} more. How many do I have?",
          "Can you tell me what {a} + {b} is?", "Do you know {a} plus {b}?", "Work out {a} plus {b}.",
          "Tell me {a} + {b}.", "If I have {a} and get {b}, how much is that?", "How much will it be if I add {b} to {a}?",
          "Tell me what {a} plus {b} is.", "What will I have if I add {a} and {b}?", "Give me the sum of {a} and {b}.", "Work out {a} + {b}.",
          "If you add {b} to {a}, how much is it?", "When I add {b} to {a}, how much do I have?", "Add {b} to {a}.", "Put {a} and {b} together.",
          "What is {b} added to {a}?", "If there are {a} and then {b} more, how many are there?", "How many are {a} and {b}?", "{a} more than {b} is what?",
          "The sum of {a} and {b}?", "What comes out if I add {b} to {a}?"],
    "-": ["What is {a} - {b}?", "{a} - {b}", "{a}-{b}", "{a} - {b} = ?", "{a}-{b}=", "What's {a}-{b}?",
          "What is {a} minus {b}?", "How much is {a} minus {b}?", "[Take|Please take] {b} from {a}.",
          "Subtract {b} from {a}.", "Calculate {a} - {b}.", "{a} minus {b}", "What do I get if I take {b} from {a}?",
          "How much is {a} - {b}?", "Compute {a} - {b}.", "What is {a} take away {b}?", "Can you subtract {b} from {a}?",
          "What does {a} minus {b} equal?", "Solve {a} - {b}.", "Can you tell me what {a} - {b} is?",
          "Do you know {a} minus {b}?", "Work out {a} minus {b}.",
          "Tell me {a} - {b}.", "If I have {a} and lose {b}, how much is left?", "How much will it be if I take {b} from {a}?",
          "Tell me what {a} minus {b} is.", "What will I have if I take {b} from {a}?", "What is left of {a} without {b}?", "Work out {a} - {b}.",
          "If you take {b} away from {a}, how much remains?", "When I take {b} from {a}, what is left?", "Take {b} away from {a}.",
          "What is {a} less {b}?", "If you subtract {b} from {a}, what is it?", "What remains of {a} if I take {b}?", "How much is left if I take {b} from {a}?",
          "I have {a} apples and eat {b}. How many are left?", "What comes out if I take {b} from {a}?", "The difference of {a} and {b}?"],
    "x": ["What is {a} x {b}?", "{a} x {b}", "{a} * {b}", "{a}*{b}", "{a} x {b} = ?", "What's {a} times {b}?",
          "What is {a} times {b}?", "How much is {a} times {b}?", "Multiply {a} by {b}.", "Multiply {a} and {b}.",
          "Calculate {a} * {b}.", "{a} times {b}", "How much is {a} x {b}?", "Compute {a} x {b}.", "What is {a} * {b}?",
          "What does {a} times {b} equal?", "Solve {a} x {b}.", "Can you multiply {a} by {b}?",
          "Can you tell me what {a} x {b} is?", "Do you know {a} times {b}?", "Work out {a} times {b}.",
          "Tell me {a} x {b}.", "How much will it be if I multiply {a} by {b}?", "Tell me what {a} times {b} is.",
          "What will I have if I multiply {a} and {b}?", "Work out {a} x {b}.",
          "If you multiply {a} by {b}, what is it?", "When I multiply {a} by {b}, how much is it?", "What comes out if I multiply {a} by {b}?",
          "The product of {a} and {b}?", "What is the product of {a} and {b}?", "What is {a} multiplied by {b}?", "If you take {a} times {b}, how much is it?",
          "Give me {a} times {b}.", "What do I get if I multiply {a} by {b}?"],
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
    """Two numbers within the range, held-out or not; small ones more often."""
    if sign == "x":
        return rng.randint(0, TABLE), rng.randint(0, TABLE)
    chance = rng.random()
    if chance < 0.12:
        a, b = rng.randint(0, 12), rng.randint(0, 12)
    elif chance < 0.30:
        a, b = rng.randint(0, LIMIT), rng.randint(0, 9)
        if sign == "+" and rng.random() < 0.3:
            a, b = b, a
    elif chance < 0.38:
        a = rng.randint(10, LIMIT)
        b = min(LIMIT, max(0, a + rng.randint(-12, 12)))
    else:
        a, b = rng.randint(0, LIMIT), rng.randint(0, LIMIT)
    if sign == "-" and a < b and rng.random() < 0.7:
        a, b = b, a
    return a, b


def draw(rng: random.Random, sign: str) -> tuple[int, int]:
    """Two numbers that training may use."""
    while True:
        a, b = pick(rng, sign)
        if not held_pair(sign, a, b):
            return a, b


def sum_turns(rng: random.Random) -> list[Turn]:
    """One sum; now and then a second and a third that go on from its result."""
    sign = rng.choices("+-x", [4.5, 5.5, 3])[0]
    a, b = draw(rng, sign)
    turns = [(typed(rng, expand(rng, rng.choice(ASK[sign]), {"a": str(a), "b": str(b)})), work(sign, a, b))]
    value = result(sign, a, b)
    while rng.random() < 0.22 and 0 <= value <= LIMIT:
        sign = rng.choice("+-")
        other = rng.randint(0, min(20, LIMIT if sign == "+" else value))
        if held_pair(sign, value, other):
            break
        word = {"+": "[plus|+|add]", "-": "[minus|-|take away]"}[sign]
        ask = rng.choice([f"And {word} {other}?", f"{word} {other}", f"Now {word} {other}.", f"And then {word} {other}?",
                          f"And what is that {word} {other}?", f"And if I {'add' if sign == '+' else 'take away'} {other}?",
                          f"What if I {'add' if sign == '+' else 'take away'} {other}?", f"Then {'add' if sign == '+' else 'take away'} {other}.",
                          f"And if you {'add' if sign == '+' else 'take away'} {other}?", f"What about {word} {other}?",
                          f"Then {word} {other}"])
        turns.append((typed(rng, expand(rng, ask), False), work(sign, value, other)))
        value = result(sign, value, other)
    return turns


def too_big(rng: random.Random) -> list[Turn]:
    """Numbers beyond the range, more than two of them, and divisions: an honest no."""
    if rng.random() < 0.15:
        numbers = [str(rng.randint(0, LIMIT)) for _ in range(rng.randint(3, 4))]
        ask = rng.choice(["{x}", "What is {x}?", "{x} = ?", "Calculate {x}."]).replace("{x}", rng.choice([" + ", " - ", " x ", "+", " plus "]).join(numbers))
        return [(typed(rng, ask), "I can only work with two numbers at a time. Give me the first two!")]
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


HELD_THEN = ["And what if you add {c}?"]
HELD_TEMPLATES = [*HELD_ASK["+"], *HELD_ASK["-"], *HELD_ASK["x"], *HELD_THEN, *counting.HELD_TEMPLATES]


MAKERS = [(10.0, sum_turns), (0.7, too_big), (0.8, counting.compare), (3.0, counting.count)]


def probes(rng: random.Random) -> list[tuple[str, str, str]]:
    """Held-out pairs and held-out words: (kind, question, rule)."""
    out = []
    for sign, kind in (("+", "plus"), ("-", "minus")):
        pairs = [(a, b) for a in range(LIMIT + 1) for b in range(LIMIT + 1)
                 if held_pair(sign, a, b) and (sign == "+" or a >= b or (a + b) % 4 == 0)]
        for a, b in rng.sample(pairs, 250):
            ask = expand(rng, rng.choice(HELD_ASK[sign] + ASK[sign][:3]), {"a": str(a), "b": str(b)})
            out.append((kind, ask, rf"(^|.*, so |.* and )\s*{a} \{sign} {b} = {result(sign, a, b)}\.$"))
    for a, b in rng.sample([(a, b) for a in range(TABLE + 1) for b in range(TABLE + 1)], 60):
        ask = expand(rng, rng.choice(HELD_ASK["x"]), {"a": str(a), "b": str(b)})
        out.append(("times, held-out words", ask, rf"^{a} x {b} = {a * b}\.$"))
    return out + counting.probes(rng)
