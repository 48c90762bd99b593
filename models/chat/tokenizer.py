"""The byte-level BPE and the chat template: one place for both, used in training and export.

The words are cut as llama.cpp's `gpt-2` pre-tokenizer cuts them. Digits are cut one by one before
that, so that no merge has a digit in it; without such a merge llama.cpp's cut (which keeps digits
together) gives the same tokens.
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ["<|pad|>", "<|bos|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
PAD, BOS, SYSTEM, USER, ASSISTANT, END = range(len(SPECIAL))
ROLE = {"system": SYSTEM, "user": USER, "assistant": ASSISTANT}
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

TEMPLATE = (
    "{{ '<|bos|>' }}{% for message in messages %}"
    "{% if message['role'] == 'system' or message['role'] == 'developer' %}{{ '<|system|>' }}"
    "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>' }}"
    "{% else %}{{ '<|user|>' }}{% endif %}"
    "{{ message['content'] | trim }}{{ '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def shell(model: models.BPE) -> Tokenizer:
    """A tokenizer with our cuts around a BPE."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
        pre_tokenizers.Split(Regex(GPT2), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def build(lines, size: int) -> Tokenizer:
    """Train the BPE on an iterator of texts."""
    tokenizer = shell(models.BPE())
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    tokenizer.encode_special_tokens = True
    return tokenizer


def restore(words: list[str], merges: list[str]) -> Tokenizer:
    """The tokenizer again, out of a GGUF's lists."""
    tokenizer = shell(models.BPE({w: i for i, w in enumerate(words)}, [tuple(m.split(" ")) for m in merges]))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.encode_special_tokens = True
    return tokenizer


def load(path: Path) -> Tokenizer:
    """Read the tokenizer; text that looks like a special token stays text."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return tokenizer


def encode_chat(tokenizer: Tokenizer, system: str | None, turns) -> tuple[list[int], list[bool]]:
    """The tokens of a conversation, and which of them the model has to say (the loss's mask)."""
    ids, said = [BOS], [False]

    def add(role: int, text: str) -> None:
        words = tokenizer.encode(text, add_special_tokens=False).ids
        ids.extend([role, *words, END])
        said.extend([False] + [role == ASSISTANT] * (len(words) + 1))

    if system is not None:
        add(SYSTEM, system)
    for ask, answer in turns:
        add(USER, ask)
        if answer is not None:
            add(ASSISTANT, answer)
    return ids, said


def encode_prompt(tokenizer: Tokenizer, system: str | None, turns) -> list[int]:
    """The tokens up to where the assistant speaks; the last turn's answer is None."""
    return encode_chat(tokenizer, system, turns)[0] + [ASSISTANT]
