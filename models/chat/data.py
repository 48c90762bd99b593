"""All subjects together: an endless stream of conversations, and the held-out questions.

    python models/chat/data.py [--count 20]    # print some of the training text
"""

from __future__ import annotations

import argparse
import importlib
import random

from corpus.grammar import Turn, normal

SUBJECTS = ["arithmetic", "identity", "smalltalk", "stories", "facts", "words", "unknown", "dialogue"]
SHARES = [  # of the first stage of training, and of the second
    {"arithmetic": 30, "identity": 13, "smalltalk": 14, "stories": 13, "facts": 12, "words": 9, "unknown": 9, "dialogue": 7},
    {"arithmetic": 52, "identity": 12, "smalltalk": 13, "stories": 5, "facts": 14, "words": 12, "unknown": 8, "dialogue": 9},
]

SYSTEMS = ["You are a helpful assistant.", "You are a helpful AI.", "You are lintel-chat.", "You are a friendly assistant.",
           "Be kind and short.", "Answer the user's questions.", "You are a small model.", "You are a helpful chat model. Be brief.",
           "Please answer in English.", "You are Lintel, a helpful assistant.", "Be polite.", "You are an assistant that helps people.",
           "Answer in one sentence.", "You help children to learn.", "", "You are a friendly chat bot.", "Help the user.",
           "You are a helpful assistant. Answer as well as you can.", "Keep your answers short and clear.", "Do not use emojis."]


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


def exchange(rng: random.Random, subject: str | None = None, stage: int = 0) -> list[Turn]:
    """The turns of one subject; never a held-out question."""
    while True:
        name = subject or rng.choices(SUBJECTS, [SHARES[stage][s] for s in SUBJECTS])[0]
        weights, makers = MAKERS[name]
        turns = rng.choices(makers, weights)[0](rng)
        if not any(normal(ask) in HELD for ask, _ in turns):
            return turns


def conversation(rng: random.Random, long: bool = False, stage: int = 0) -> tuple[str | None, list[Turn]]:
    """A system message or none, and the turns; `long` ones wander over many subjects."""
    system = rng.choice(SYSTEMS) if rng.random() < 0.25 else None
    turns = exchange(rng, stage=stage)
    if system is None and rng.random() < 0.04:
        system, turns = MODULES["dialogue"].persona(rng)
        while any(normal(ask) in HELD for ask, _ in turns):
            system, turns = MODULES["dialogue"].persona(rng)
    more = rng.randint(4, 16) if long else rng.choices([0, 1, 2, 3], [66, 18, 10, 6])[0]
    for _ in range(more):
        turns = turns + exchange(rng, stage=stage)
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
