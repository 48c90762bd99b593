"""The small grammar that all subjects share: templates, intents and the way people type."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

Turn = tuple[str, str]
"""What the user says and what the assistant answers."""

_CHOICE = re.compile(r"\[([^\[\]]*)\]")


def expand(rng: random.Random, text: str, slots: dict[str, str] | None = None) -> str:
    """Unfold `[a|b|c]` (innermost first) by chance, then fill `{name}` from the slots."""
    while True:
        text, changed = _CHOICE.subn(lambda m: rng.choice(m.group(1).split("|")), text)
        if not changed:
            break
    if slots:
        for name, value in slots.items():
            text = text.replace("{" + name + "}", value)
    return re.sub(r" +", " ", text).strip()


def normal(text: str) -> str:
    """The form in which two questions count as the same: lower case, words and signs only."""
    return " ".join(re.findall(r"[a-z0-9']+|[-+*/=]", text.lower()))


def pattern(template: str) -> str:
    """A regular expression that matches the normal form of a template, whatever fills its slots."""
    parts = [normal(part) for part in re.split(r"\{[a-z0-9]+\}", template)]
    return r"\s*" + r"\s*.+\s*".join(re.escape(part) for part in parts) + r"\s*"


def article(noun: str) -> str:
    """`a cat`, `an owl`."""
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def join(words: list[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def capital(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


@dataclass
class Intent:
    """One thing that people ask, in the words of training, in held-out words, and its answers.

    `rule` is the regular expression that the evaluation holds the whole answer against.
    """

    name: str
    asks: list[str]
    held: list[str]
    answers: list[str]
    rule: str
    slots: Callable[[random.Random], dict[str, str]] | None = None
    weight: float = 1.0
    polite: bool = True
    tags: dict[str, str] = field(default_factory=dict)

    def make(self, rng: random.Random) -> list[Turn]:
        """One exchange for training."""
        slots = self.slots(rng) if self.slots else {}
        ask = expand(rng, rng.choice(self.asks), slots)
        answer = expand(rng, rng.choice(self.answers), slots)
        return [(typed(rng, ask, self.polite), capital(answer))]

    def probe(self, rng: random.Random, ask: str) -> tuple[str, str]:
        """A held-out question and the rule for its answer."""
        slots = self.slots(rng) if self.slots else {}
        escaped = {name: re.escape(value) for name, value in slots.items()}
        return expand(rng, ask, slots), fill(self.rule, escaped)


def fill(text: str, slots: dict[str, str]) -> str:
    """Fill the slots without unfolding choices (a rule uses brackets of its own)."""
    for name, value in slots.items():
        text = text.replace("{" + name + "}", value)
    return text


_BEFORE = ["please ", "hey, ", "hi, ", "hello, ", "ok, ", "so, ", "um, ", "now ", "please, ", "and ",
           "can you tell me: ", "tell me, ", "well, ", "quick question: ", "hey lintel, ", "hmm, "]
_AFTER = [" please", ", please", " now", " for me", ", thanks", " ok", " today"]


_ORDER = re.compile(r"(?i)(tell|list|name|give|count|spell|write|say|show|add|subtract|take|multiply|calculate|compute|solve|explain|"
                    r"describe|make|draw|repeat|sing|work|continue|introduce)\b(?! (hello|hi)\b)")
_WRAP = ["Can you please {x}?", "Could you please {x}?", "I want you to {x}.", "Will you {x}?", "Please {x}.", "Would you please {x}?",
         "You should {x}.", "Now {x}.", "Try to {x}.", "I'd like you to {x}.", "Go and {x}."]
_ASKED = ["Can you answer this: {x}", "I have a question: {x}", "I would like to know: {x}", "Let me ask: {x}", "One more thing: {x}",
          "So {x}", "And {x}", "But {x}", "Then {x}", "Say, {x}"]


_BE = re.compile(r"(?i)(what|who|where|how|why|which [a-z]+|what [a-z]+|how [a-z]+)(?:'s| (is|are|am|was|were)) ((?!it |there |you .*ing)[^?]+)\?$")
_DO = re.compile(r"(?i)(how many [a-z]+|how much|what [a-z]+|which [a-z]+|what|how|where|why|which) (do|does|can|should|did) "
                 r"(I|you|we|they|it|people|Lintel|an? [a-z]+|the [a-z]+) ([a-z']+)([^?]*)\?$")
_TELL = ["Can you tell me {x}?", "Could you tell me {x}?", "Do you know {x}?", "Tell me {x}.", "Please tell me {x}.", "I want to know {x}.",
         "I would like to know {x}.", "I wonder {x}.", "Will you tell me {x}?", "Please say {x}.", "I need to know {x}.", "Any idea {x}?"]


def clause(ask: str) -> str | None:
    """A question as a part of a sentence: `what is a bee?` is `what a bee is`, or None."""
    found = _BE.match(ask)
    if found:
        wh, be, rest = found.groups()
        return f"{wh.lower()} {rest} {be or 'is'}" if len(rest) < 32 else None
    found = _DO.match(ask)
    if not found:
        return None
    wh, do, who, verb, rest = found.groups()
    if do.lower() == "does":
        verb = {"have": "has", "do": "does", "go": "goes"}.get(verb, verb + "s")
    elif do.lower() != "do":
        verb = f"{do.lower()} {verb}"
    return f"{wh.lower()} {who} {verb}{rest}"


def wrapped(rng: random.Random, ask: str) -> str:
    """The same question or order in a roundabout way."""
    low = ask if re.match(r"I\b|[A-Z]+\b", ask[:2]) and ask[:2] != "A " else ask[:1].lower() + ask[1:]
    if _ORDER.match(ask):
        return rng.choice(_WRAP).replace("{x}", low.rstrip(".!?"))
    part = clause(ask) if rng.random() < 0.7 else None
    if part:
        return rng.choice(_TELL).replace("{x}", part)
    if re.match(r"(?i)(what|who|how|which|where|why|do|does|is|are|can)\b", ask):
        return rng.choice(_ASKED).replace("{x}", low)
    return ask


def typed(rng: random.Random, ask: str, polite: bool = True) -> str:
    """The question as people type it: politeness, case, a missing mark, sometimes a slip."""
    if polite and rng.random() < 0.25:
        ask = wrapped(rng, ask)
    end = ""
    while ask and ask[-1] in ".?!":
        end, ask = ask[-1] + end, ask[:-1]
    if polite and rng.random() < 0.12:
        before = rng.choice(_BEFORE)
        ask = before + (ask[:1].lower() + ask[1:] if not re.match(r"I\b", ask) else ask)
    if polite and rng.random() < 0.06:
        ask += rng.choice(_AFTER)
    chance = rng.random()
    if chance < 0.22:
        ask = ask.lower()
    elif chance < 0.70:
        ask = capital(ask)
    if rng.random() < 0.2:
        end = ""
    elif rng.random() < 0.06:
        end = {"?": "??", ".": "!", "!": "!!"}.get(end, end)
    if rng.random() < 0.05:
        ask = ask.replace("'", "")
    if rng.random() < 0.03 and len(ask) > 12:
        ask = slip(rng, ask)
    return ask + end


def slip(rng: random.Random, text: str) -> str:
    """Swap, drop or double one letter inside the text; never a digit or a sign."""
    places = [i for i in range(1, len(text) - 1) if text[i].isalpha() and text[i + 1].isalpha()]
    if not places:
        return text
    i = rng.choice(places)
    kind = rng.randrange(3)
    if kind == 0:
        return text[:i] + text[i + 1] + text[i] + text[i + 2:]
    if kind == 1:
        return text[:i] + text[i + 1:]
    return text[:i] + text[i] + text[i:]
