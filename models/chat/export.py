"""Write the trained model as GGUF, quantised to Q8_0.

    python models/chat/export.py
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch

import tokenizer as tok

HERE = Path(__file__).parent


def permuted(weight: np.ndarray, heads: int) -> np.ndarray:
    """From rotary halves to the neighbouring pairs that llama.cpp rotates."""
    rows, width = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, width).swapaxes(1, 2).reshape(rows, width)


NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}


def main() -> None:
    """Read .work/model.pt and .work/tokenizer.json, write lintel-chat.gguf."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=HERE / ".work")
    parser.add_argument("--out", type=Path, default=HERE / "lintel-chat.gguf")
    args = parser.parse_args()
    point = torch.load(args.work / "model.pt", map_location="cpu", weights_only=True)
    config, state = point["config"], {k: v.float().numpy() for k, v in point["model"].items()}
    heads, width = config["num_attention_heads"], config["hidden_size"]

    writer = gguf.GGUFWriter(str(args.out), "llama")
    writer.add_name("lintel-chat")
    writer.add_description("The small embedded chat model of Lintel, trained from nothing on text of its own.")
    writer.add_author("The Lintel authors")
    writer.add_license("Apache-2.0")
    writer.add_languages(["en"])
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(width)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(width // heads)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)

    spec = json.loads((args.work / "tokenizer.json").read_text())
    by_id = {i: t for t, i in spec["model"]["vocab"].items()}
    by_id.update({t["id"]: t["content"] for t in spec["added_tokens"]})
    words = [by_id.get(i, f"<|unused_{i}|>") for i in range(config["vocab_size"])]
    kinds = [gguf.TokenType.CONTROL if i < len(tok.SPECIAL) else
             gguf.TokenType.NORMAL if i in by_id else gguf.TokenType.UNUSED for i in range(len(words))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(m) if isinstance(m, list) else m for m in spec["model"]["merges"]])
    writer.add_bos_token_id(tok.BOS)
    writer.add_eos_token_id(tok.END)
    writer.add_eot_token_id(tok.END)
    writer.add_pad_token_id(tok.PAD)
    writer.add_unk_token_id(tok.PAD)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(tok.TEMPLATE)

    def put(name: str, value: np.ndarray) -> None:
        if value.ndim == 1:
            writer.add_tensor(name, value.astype(np.float32))
        else:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(value, kind), raw_dtype=kind)

    put("token_embd.weight", state["embed_tokens.weight"])
    put("output_norm.weight", state["norm.weight"])
    for i in range(config["num_hidden_layers"]):
        for old, new in NAMES.items():
            value = state[f"layers.{i}.{old}.weight"]
            if new in ("attn_q", "attn_k"):
                value = permuted(value, heads)
            put(f"blk.{i}.{new}.weight", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{args.out.name}: {args.out.stat().st_size / 1e6:.2f} MB, {sum(v.size for v in state.values()):,} parameters")


if __name__ == "__main__":
    main()
