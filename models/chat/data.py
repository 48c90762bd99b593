"""All subjects together: an endless stream of conversations, and the held-out questions.

    python models/chat/data.py [--count 20]    # print some of the training text
"""

from __future__ import annotations

import argparse
import importlib
import random
import re

from corpus.grammar import Turn, normal, pattern

SUBJECTS = ["arithmetic", "identity", "smalltalk", "stories", "facts", "words", "unknown", "dialogue"]
SHARES = [36, 14, 14, 8, 14, 9, 9, 10]

SYSTEMS = ["You are a helpful assistant.", "You are a helpful AI.", "You are lintel-chat.", "You are a friendly assistant.",
           "Be kind and short.", "Answer the user's questions.", "You are a small model.", "You are a helpful chat model. Be brief.",
           "Please answer in English.", "You are Lintel, a helpful assistant.", "Be polite.", "You are an assistant that helps people.",
           "Answer in one sentence.", "You help children to learn.", "", "You are a friendly chat bot.", "Help the user.",
           "You are a helpful assistant. Answer as well as you can.", "Keep your answers short and clear.", "Do not use emojis.",
           "You are a helpful, honest assistant. Answer the questions of the user as well as you can, and say when you do not know something.",
           "You are an AI assistant running inside a gateway. Be concise and correct.", "Respond in plain text.", "Be brief.", "Be helpful.",
           "You answer questions.", "Today is Monday.", "The current date is 2025-03-14.", "Use simple words.", "You talk to a child.",
           "Think before you answer.", "You are an expert.", "Always be nice.", "You are a chatbot on a web site. Greet the user and help.",
           "Never say anything bad.", "Answer truthfully.", "You are a test assistant.", "This is a demo of Lintel.", "Write like a poet."]


def _load():
    modules = {name: importlib.import_module(f"corpus.{name}") for name in SUBJECTS}
    makers = {}
    for name, module in modules.items():
        own = list(getattr(module, "MAKERS", []))
        own += [(intent.weight, intent.make) for intent in getattr(module, "INTENTS", [])]
        makers[name] = ([w for w, _ in own], [m for _, m in own])
    return modules, makers


MODULES, MAKERS = _load()


def held_out() -> list[tuple[str, str, str]]:
    """The evaluation's questions: (kind, question, rule for the whole answer), always the same."""
    rng = random.Random(20)
    out = []
    for name, module in MODULES.items():
        for intent in getattr(module, "INTENTS", []):
            for ask in intent.held:
                question, rule = intent.probe(rng, ask)
                out.append((name, question, rule))
        if hasattr(module, "probes"):
            out += module.probes(rng)
    return out


HELD = frozenset(normal(question) for _, question, _ in held_out())
TEMPLATES = [*(ask for module in MODULES.values() for intent in getattr(module, "INTENTS", []) for ask in intent.held),
             *(ask for module in MODULES.values() for ask in getattr(module, "HELD_TEMPLATES", []))]
HELD_WORDING = re.compile("|".join(f"(?:{pattern(template)})" for template in TEMPLATES))
"""Matches every held-out wording, whatever fills its slots."""


def is_held(ask: str) -> bool:
    """Whether training may not see the question: a held-out wording with any filling."""
    text = normal(ask)
    return text in HELD or HELD_WORDING.fullmatch(text) is not None


def exchange(rng: random.Random, subject: str | None = None) -> list[Turn]:
    """The turns of one subject; never a held-out question."""
    while True:
        name = subject or rng.choices(SUBJECTS, SHARES)[0]
        weights, makers = MAKERS[name]
        turns = rng.choices(makers, weights)[0](rng)
        if not any(is_held(ask) for ask, _ in turns):
            return turns


def conversation(rng: random.Random, long: bool = False) -> tuple[str | None, list[Turn]]:
    """A system message or none, and the turns; `long` ones wander over many subjects."""
    system = rng.choice(SYSTEMS) if rng.random() < 0.25 else None
    turns = exchange(rng)
    if system is None and rng.random() < 0.04:
        system, turns = MODULES["dialogue"].persona(rng)
        while any(is_held(ask) for ask, _ in turns):
            system, turns = MODULES["dialogue"].persona(rng)
    more = rng.randint(4, 16) if long else rng.choices([0, 1, 2, 3], [66, 18, 10, 6])[0]
    for _ in range(more):
        following = exchange(rng)
        while following[0][1] in MODULES["dialogue"].NO_NAME:  # it may have been told
            following = exchange(rng)
        turns = turns + following
    return system, turns


def texts(conv) -> list[str]:
    """The texts of a conversation, for the tokenizer."""
    system, turns = conv
    return ([system] if system else []) + [text for turn in turns for text in turn]


def main() -> None:
    """Print some conversations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--subject", choices=SUBJECTS)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    for _ in range(args.count):
        system, turns = (None, exchange(rng, args.subject)) if args.subject else conversation(rng)
        if system is not None:
            print("SYSTEM:", system)
        for ask, answer in turns:
            print("  user:", ask)
            print("  model:", answer)
        print()


if __name__ == "__main__":
    main()
