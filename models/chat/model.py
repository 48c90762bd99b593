"""The Llama architecture in plain PyTorch, with the parameter names of Hugging Face."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    """The shape of the model; every row is a multiple of 32, as Q8_0 wants it."""

    vocab_size: int = 2048
    hidden_size: int = 256
    intermediate_size: int = 704
    num_hidden_layers: int = 5
    num_attention_heads: int = 4
    max_position_embeddings: int = 1024
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.num_attention_heads

    def dict(self) -> dict:
        """The fields, for the checkpoint."""
        return asdict(self)


class RMSNorm(nn.Module):
    """Root mean square norm with a learned scale."""

    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.eps)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position, halves convention (export.py permutes the rows for llama.cpp)."""
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class Attention(nn.Module):
    """Causal attention, spelled out: PyTorch's fused one is slow backwards on the CPU."""

    def __init__(self, c: Config):
        super().__init__()
        self.heads, self.dim = c.num_attention_heads, c.head_dim
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(c.hidden_size, c.hidden_size, bias=False))

    def forward(self, x, cos, sin):
        b, t, w = x.shape
        q, k, v = (p(x).view(b, t, self.heads, self.dim).transpose(1, 2)
                   for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        later = torch.full((t, t), float("-inf"), dtype=x.dtype).triu(1)
        y = torch.softmax((q * self.dim**-0.5 @ k.transpose(2, 3) + later).float(), -1).to(x.dtype) @ v
        return self.o_proj(y.transpose(1, 2).reshape(b, t, w))


class MLP(nn.Module):
    """SwiGLU."""

    def __init__(self, c: Config):
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.up_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.down_proj = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """One block."""

    def __init__(self, c: Config):
        super().__init__()
        self.input_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        self.mlp = MLP(c)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    """Embeddings, blocks, norm; the output shares the embedding's weights."""

    def __init__(self, c: Config):
        super().__init__()
        self.config = c
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = RMSNorm(c.hidden_size, c.rms_norm_eps)
        inverse = 1.0 / c.rope_theta ** (torch.arange(0, c.head_dim, 2).float() / c.head_dim)
        angle = torch.outer(torch.arange(c.max_position_embeddings).float(), inverse)
        self.register_buffer("cos", torch.cat((angle, angle), -1).cos(), persistent=False)
        self.register_buffer("sin", torch.cat((angle, angle), -1).sin(), persistent=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                scale = 0.02 if "embed" in name else p.shape[1] ** -0.5 * 0.6
                if name.endswith(("o_proj.weight", "down_proj.weight")):
                    scale *= (2 * c.num_hidden_layers) ** -0.5
                nn.init.normal_(p, std=scale)

    def hidden(self, ids: torch.Tensor) -> torch.Tensor:
        """The states after the last norm."""
        x = self.embed_tokens(ids)
        if torch.is_autocast_enabled("cpu"):
            x = x.to(torch.bfloat16)
        t = ids.shape[1]
        cos, sin = self.cos[:t].to(x.dtype), self.sin[:t].to(x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.norm(x)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits."""
        return F.linear(self.hidden(ids), self.embed_tokens.weight)
