"""Measure the GGUF itself on held-out questions, and write the figures into the model card.

    python models/chat/evaluate.py            # prints, and updates README.md and evaluation.json
    python models/chat/evaluate.py --dry      # prints only

The weights and the tokenizer are read from the GGUF, so what is measured is what is shipped. Every
answer is decoded greedily and judged by a regular expression over the whole answer. The script also
draws all of the training text again and checks that no held-out wording and no held-out sum is in
it, and writes the questions to held-out.json, which `npm run eval:chat` asks a running gateway.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import defaultdict
from pathlib import Path

import gguf
import numpy as np
import torch
import torch.nn.functional as F

import batches
import data
import tokenizer as tok
from corpus.arithmetic import held_pair
from corpus.grammar import normal
from export import NAMES
from model import Config, Llama, rotate
from train import BLOCK, TOGETHER

HERE = Path(__file__).parent
SUMS = ("plus", "minus", "times, held-out words")


def load(path: Path):
    """The model and the tokenizer out of the GGUF."""
    reader = gguf.GGUFReader(str(path))
    value = lambda key: reader.fields[key].contents()  # noqa: E731
    words, merges = value("tokenizer.ggml.tokens"), value("tokenizer.ggml.merges")
    config = Config(vocab_size=len(words), hidden_size=value("llama.embedding_length"),
                    intermediate_size=value("llama.feed_forward_length"), num_hidden_layers=value("llama.block_count"),
                    num_attention_heads=value("llama.attention.head_count"),
                    max_position_embeddings=value("llama.context_length"))
    model, state = Llama(config), {}
    tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    state["embed_tokens.weight"], state["norm.weight"] = tensors["token_embd.weight"], tensors["output_norm.weight"]
    for i in range(config.num_hidden_layers):
        for name, short in NAMES.items():
            weight = tensors[f"blk.{i}.{short}.weight"]
            if short in ("attn_q", "attn_k"):
                rows, width = weight.shape
                heads = config.num_attention_heads
                weight = weight.reshape(heads, rows // heads // 2, 2, width).swapaxes(1, 2).reshape(rows, width)
            state[f"layers.{i}.{name}.weight"] = weight
    model.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in state.items()})
    return model.eval(), tok.restore(words, merges)


def states(model: Llama, ids: torch.Tensor, cache: list) -> torch.Tensor:
    """The logits of the last position; keys and values stay in `cache`."""
    x = model.embed_tokens(ids)
    past = cache[0][0].shape[2] if cache else 0
    b, t = ids.shape
    cos, sin = model.cos[past:past + t], model.sin[past:past + t]
    for i, layer in enumerate(model.layers):
        a, y = layer.self_attn, layer.input_layernorm(x)
        q, k, v = (p(y).view(b, t, a.heads, a.dim).transpose(1, 2) for p in (a.q_proj, a.k_proj, a.v_proj))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if past:
            k, v = torch.cat((cache[i][0], k), 2), torch.cat((cache[i][1], v), 2)
            cache[i] = (k, v)
        else:
            cache.append((k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=not past)
        x = x + a.o_proj(y.transpose(1, 2).reshape(b, t, -1))
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    return model.norm(x)[:, -1] @ model.embed_tokens.weight.T


@torch.no_grad()
def answers(model: Llama, tokenizer, prompts: list[list[int]], limit: int = 260) -> list[tuple[str, bool]]:
    """Greedy answers, and whether each ended by itself; prompts of one length go together."""
    groups, out = defaultdict(list), [None] * len(prompts)
    for i, prompt in enumerate(prompts):
        groups[len(prompt)].append(i)
    for members in groups.values():
        said, cache = {i: [] for i in members}, []
        ids, alive = torch.tensor([prompts[i] for i in members]), list(members)
        for _ in range(limit):
            following = states(model, ids, cache).argmax(-1).tolist()
            keep = [n for n, token in enumerate(following) if token != tok.END]
            for n in keep:
                said[alive[n]].append(following[n])
            for n, token in enumerate(following):
                if token == tok.END:
                    out[alive[n]] = (tokenizer.decode(said[alive[n]]), True)
            alive = [alive[n] for n in keep]
            if not alive:
                break
            cache[:] = [(k[keep], v[keep]) for k, v in cache]
            ids = torch.tensor([[following[n]] for n in keep])
        for i in alive:
            out[i] = (tokenizer.decode(said[i]), False)
    return out


@torch.no_grad()
def perplexity(model: Llama, tokenizer, count: int = 300) -> float:
    """Of the assistant's words in conversations drawn with a seed that training does not use."""
    rng, total, number = random.Random(990017), 0.0, 0
    for _ in range(count):
        ids, said = tok.encode_chat(tokenizer, *data.conversation(rng))
        ids, mask = torch.tensor([ids[:1024]]), torch.tensor(said[1:1024])
        losses = F.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:], reduction="none")
        total, number = total + losses[mask].sum().item(), number + int(mask.sum())
    return math.exp(total / number)


def leaks(tokenizer, steps: int, seed: int) -> tuple[int, int]:
    """Draw the whole text of training again: (messages looked at, held-out questions or sums found)."""
    looked = found = 0

    def look(conversation) -> None:
        nonlocal looked, found
        for ask, answer in conversation[1]:
            looked += 1
            pairs = re.findall(r"(\d+) ([+-]) (\d+) =", answer)
            found += data.is_held(ask) or any(held_pair(s, int(a), int(b)) for a, s, b in pairs)

    for number in range(-(-steps // BLOCK)):
        batches.block(tokenizer, seed, number, BLOCK * TOGETHER, look)
    return looked, found


def questions() -> list[tuple[str, str | None, list, str, str]]:
    """All held-out questions, each once: (kind, system, earlier turns, question, rule for the whole answer)."""
    drawn = [(kind, None, [], ask, rule) for kind, ask, rule in data.held_out()] + data.MODULES["dialogue"].talks(random.Random(21))
    return list({repr(question): question for question in drawn}.values())


def measure(model, tokenizer, show: int) -> tuple[list, int, int]:
    """(kind, right, asked) for each kind, how many ended by themselves, and of how many."""
    probes = questions()
    prompts = [tok.encode_prompt(tokenizer, system, [*before, (ask, None)]) for _, system, before, ask, _ in probes]
    table, ended = defaultdict(lambda: [0, 0]), 0
    for (kind, _, _, ask, rule), (text, stopped) in zip(probes, answers(model, tokenizer, prompts)):
        right = bool(re.search(rule, text)) and stopped
        table[kind][0] += right
        table[kind][1] += 1
        ended += stopped
        if not right and show > 0:
            show -= 1
            print(f"  wrong [{kind}] {ask!r} -> {text!r}")
    return [(kind, *counts) for kind, counts in table.items()], ended, len(probes)


def main() -> None:
    """Check, measure, print, and put the figures into the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=HERE / "lintel-chat.gguf")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--show", type=int, default=40, help="wrong answers to print")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = load(args.model)
    table, ended, asked = measure(model, tokenizer, args.show)
    sums = [(r, n) for kind, r, n in table if kind in SUMS[:2]]
    words = [(r, n) for kind, r, n in table if kind not in SUMS[:2]]
    share = lambda rows: sum(r for r, _ in rows) / sum(n for _, n in rows)  # noqa: E731
    note = HERE / ".work" / "training.json"
    training = json.loads(note.read_text()) if note.exists() else json.loads((HERE / "evaluation.json").read_text())["training"]
    looked, found = (0, 0) if args.dry else leaks(tokenizer, training["steps"], training["seed"])
    figures = {"held_out_sums": round(share(sums), 4), "held_out_questions": round(share(words), 4),
               "perplexity": round(perplexity(model, tokenizer), 3), "ended_by_itself": f"{ended} of {asked}",
               "training_messages_checked": looked, "held_out_found_in_training": found,
               "kinds": {kind: f"{r} of {n}" for kind, r, n in table}}
    lines = ["| held out | right | asked |", "|---|---:|---:|", *(f"| {k} | {r} | {n} |" for k, r, n in table),
             f"| **sums with held-out numbers** | **{share(sums):.1%}** | {sum(n for _, n in sums)} |",
             f"| **rephrased questions, all other rows** | **{share(words):.1%}** | {sum(n for _, n in words)} |", "",
             f"- Ended by itself: {ended} of {asked} answers.",
             f"- Perplexity of the answers in 300 freshly drawn conversations: {figures['perplexity']:.2f}.",
             f"- Held-out questions or sums found in {looked:,} messages of training (all of them, drawn again): {found}."]
    figures["training"] = training
    lines.append(f"- Training: {training['steps']:,} steps, {training['tokens'] / 1e6:.1f} million tokens, "
                 f"{training['parameters']:,} parameters, {training.get('minutes', 0):.0f} minutes on {training['threads']} thread(s).")
    size = args.model.stat().st_size
    lines.append(f"- File: {size / 1e6:.2f} MB.")
    print("\n".join(lines))
    if not args.dry:
        rows = [json.dumps(dict(zip(("kind", "system", "before", "ask", "rule"), row))) for row in questions()]
        (HERE / "held-out.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")
        (HERE / "evaluation.json").write_text(json.dumps(figures, indent=2) + "\n")
        card = HERE / "README.md"
        begin, end = "<!-- figures: evaluate.py -->", "<!-- end of figures -->"
        text = card.read_text()
        head, rest = text.split(begin)
        card.write_text(head + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
