"""Conversations of two or three turns: a name, a favourite, what was said; and a persona."""

from __future__ import annotations

import random

from .grammar import Turn, expand, typed

NAMES = ["Mia", "Tom", "Lily", "Ben", "Anna", "Max", "Ella", "Sam", "Nora", "Leo", "Rosa", "Finn", "Zoe", "Otto", "Ida", "Hugo", "Emma", "Paul", "Lucy",
         "Tim", "Sara", "Jack", "Peter", "Maria", "John", "Alice", "Bob", "David", "Laura", "Mark", "Eva", "Omar", "Yuki", "Ali", "Chen", "Priya",
         "Ivan", "Olga", "Carlos", "Sofia", "Kim", "Alex", "Robin", "Jane", "Fred", "Nina", "Oleg", "Marta", "Simon", "Clara", "Daniel", "Julia"]
BOT_NAMES = ["Mika", "Toto", "Zuri", "Beep", "Nemo", "Sage", "Orion", "Willow", "Dot", "Felix", "Gizmo", "Hazel", "Juno", "Koda", "Pip", "Robo", "Sunny", "Ada", "Bolt", "Momo", "Coco", "Luna", "Rex", "Kiki", "Nova", "Zed", "Bella", "Atlas", "Echo", "Iris"]
TELL = ["My name is {n}.", "I am {n}.", "I'm {n}.", "Hello, I am {n}.", "Hi, my name is {n}.", "Call me {n}.", "Hi, I'm {n}.", "Hello! My name is {n}.",
        "My name's {n}.", "You can call me {n}.", "I am called {n}.", "Good morning, I am {n}.",
        "People call me {n}.", "It is me, {n}.", "Here is {n}.", "Good evening! My name is {n}.", "{n} is my name."]
ASK = ["What is my name?", "What's my name?", "Do you know my name?", "Who am I?", "Do you remember my name?", "Tell me my name.", "Say my name.",
       "What am I called?", "Do you still know my name?", "Can you tell me my name?"]
HELD_ASK = ["So what is my name?", "Can you say my name?", "And do you remember what my name is?"]
HELD_TEMPLATES = HELD_ASK
NO_NAME = ["You have not told me your name yet.", "I do not know your name yet. What is it?"]
THINGS = {"colour": ["red", "blue", "green", "yellow", "pink", "black", "white", "purple", "orange", "brown"],
          "animal": ["cat", "dog", "horse", "owl", "fox", "bear", "rabbit", "tiger", "duck", "penguin"],
          "food": ["pizza", "cake", "soup", "bread", "cheese", "rice", "pasta", "salad", "fish", "chocolate"],
          "number": ["7", "3", "12", "42", "9", "5", "21", "88", "13", "64"]}
PETS = ["cat", "dog", "rabbit", "hamster", "bird", "fish", "horse", "turtle"]


def some_name(rng: random.Random) -> str:
    """A known name, or one that nobody has: copying has to be learned, not the list."""
    if rng.random() < 0.6:
        return rng.choice(NAMES)
    return "".join(rng.choice("b d f g k l m n p r s t v z ch br".split()) + rng.choice("aeiou") for _ in range(rng.choice([2, 2, 3]))).capitalize() \
        + rng.choice(["", "", "n", "l", "s"])


def between(rng: random.Random) -> list[Turn]:
    """Nothing, or another exchange in the middle."""
    if rng.random() < 0.55:
        return []
    from . import arithmetic, smalltalk
    if rng.random() < 0.5:
        a, b = arithmetic.draw(rng, "+")
        return [(typed(rng, f"What is {a} + {b}?"), arithmetic.work("+", a, b))]
    return rng.choice(smalltalk.INTENTS[:3] + smalltalk.INTENTS[12:14]).make(rng)


def name(rng: random.Random) -> list[Turn]:
    """Tell a name, ask for it."""
    n = some_name(rng)
    said = rng.choice(TELL).replace("{n}", n)
    if rng.random() < 0.15:
        said = said.lower()
    if rng.random() < 0.25:
        said = said.rstrip(".")
    first = expand(rng, rng.choice([f"Nice to meet you, {n}!", f"Hello, {n}! [How can I help you?|Nice to meet you.]", f"Hi {n}! [How can I help you?|Nice to meet you.]"]))
    turns = [(said, first)] + between(rng)
    if rng.random() < 0.85:
        turns.append((typed(rng, rng.choice(ASK)), expand(rng, f"Your name is {n}.")))
    return turns


def no_name(rng: random.Random) -> list[Turn]:
    """Ask for a name that was never told."""
    return [(typed(rng, rng.choice(ASK)), rng.choice(NO_NAME))]


def favourite(rng: random.Random) -> list[Turn]:
    """Tell a favourite, ask for it."""
    kind = rng.choice(list(THINGS))
    x = rng.choice(THINGS[kind])
    spelled = rng.choice(["favourite", "favorite"])
    turns = [(typed(rng, f"My {spelled} {kind} is {x}.", False), expand(rng, rng.choice([f"{x} is a [nice|good|fine] {kind}!", f"I will remember that: {x}."])).capitalize()
              if kind != "number" else f"{x} is a [nice|good] number!".replace("[nice|good]", rng.choice(["nice", "good"])))]
    turns += between(rng)
    ask = rng.choice(["What is my {s} {k}?", "What's my {s} {k}?", "Do you remember my {s} {k}?", "Which {k} do I like best?", "Tell me my {s} {k}."])
    turns.append((typed(rng, ask.replace("{s}", spelled).replace("{k}", kind)), f"Your favourite {kind} is {x}."))
    return turns


def pet(rng: random.Random) -> list[Turn]:
    """A pet and its name."""
    kind, n = rng.choice(PETS), rng.choice(BOT_NAMES + NAMES)
    turns = [(typed(rng, rng.choice([f"I have a {kind} named {n}.", f"I have a {kind} called {n}.", f"My {kind} is called {n}."]), False),
              rng.choice([f"{n} is a nice name for a {kind}!", f"How nice! Say hello to {n}."]))]
    turns += between(rng)
    ask = rng.choice([f"What is my {kind} called?", f"What is the name of my {kind}?", f"What is my {kind}'s name?", "What is my pet called?"])
    turns.append((typed(rng, ask), f"Your {kind} is called {n}."))
    return turns


def said_before(rng: random.Random) -> list[Turn]:
    """What did I just say?"""
    from . import words
    text = words.phrase(rng)
    first = [(f"Say {text}", text[:1].upper() + text[1:] + ".")] if rng.random() < 0.5 else words.repeat(rng)
    ask = rng.choice(["Say that again.", "Can you repeat that?", "Again please", "Repeat that.", "What did you say?", "Once more."])
    return first + [(typed(rng, ask), first[0][1])]


def persona(rng: random.Random) -> tuple[str, list[Turn]]:
    """A system message gives a name or a fact; the answers keep to it."""
    n = rng.choice(BOT_NAMES) if rng.random() < 0.5 else some_name(rng)
    if rng.random() < 0.35:
        user = rng.choice(NAMES)
        system = rng.choice([f"The user's name is {user}.", f"You are talking to {user}.", f"The user is called {user}. Be kind."])
        return system, [(typed(rng, rng.choice(ASK)), f"Your name is {user}.")]
    system = rng.choice([f"You are {n}.", f"Your name is {n}.", f"You are {n}, a friendly assistant.", f"You are {n}, a helpful robot.",
                         f"You are a helpful assistant named {n}.", f"You are an assistant called {n}. Be kind.", f"Your name is {n}. Help the user.",
                         f"You are {n}, the assistant of a shop.", f"You are {n}, the helper of a small school.", f"You are {n}, a funny pirate."])
    ask = rng.choice(["Who are you?", "What is your name?", "What's your name?", "Hello, who are you?", "Who is this?", "What should I call you?",
                      "Who am I talking to?", "Tell me your name.", "Do you have a name?"])
    return system, [(typed(rng, ask), rng.choice([f"I am {n}. [How can I help you?]".replace("[", "").replace("]", ""), f"My name is {n}."]))]


MAKERS = [(3.0, name), (0.8, no_name), (2.0, favourite), (1.5, pet), (1.0, said_before)]


def talks(rng: random.Random) -> list[tuple[str, str | None, list[Turn], str, str]]:
    """Held-out conversations: (kind, system, earlier turns, question, rule)."""
    from . import arithmetic
    out = []
    for _ in range(20):
        n = rng.choice(NAMES)
        out.append(("name over turns", None, [(f"Good day, my name is {n}.", f"Nice to meet you, {n}!")], rng.choice(HELD_ASK), rf"\b{n}\b"))
    for _ in range(20):
        a, b = arithmetic.draw(rng, "+")
        c = rng.randint(0, 20)
        if a + b > 79:
            continue
        ask = rng.choice(arithmetic.HELD_THEN).replace("{c}", str(c))
        out.append(("sum over turns", None, [(f"What is {a} + {b}?", arithmetic.work("+", a, b))], ask, rf"= {a + b + c}\.$"))
    for _ in range(10):
        n = rng.choice(BOT_NAMES)
        out.append(("system message", f"You are {n}, the assistant of a small shop.", [], "Who are you?", rf"\b{n}\b"))
    return out
