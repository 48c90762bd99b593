"""The text encoder and the denoising UNet.

A scene is mostly geometry, so the UNet gets, next to the latent, maps of the place made from the
latent's size alone. Text comes in twice: its first token through scale and shift of each block,
all tokens through cross-attention. It works on 2x2 cells, 32 pixels, at three resolutions.

Inside, it predicts the clean latents: those follow from few facts, while noise has as many
dimensions as the latent, more than the width of this network could carry. The noise schedule turns
the answer into the v-prediction that schedulers know.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

from captions import MAX_LENGTH
from latents import CHANNELS as LATENT
from schedule import alphas_cumprod

DIM = 128  # of the text states
WIDTHS = (96, 128, 224)
EMB = 256


class Attention(nn.Module):
    """x [B, n, c] looks at y [B, m, d]; returns [B, n, c]. bias: [B, 1, 1, m], added to the scores."""

    def __init__(self, c, d, heads):
        super().__init__()
        self.heads, self.size = heads, c // heads
        self.q = nn.Linear(c, c)
        self.kv = nn.Linear(d, 2 * c)
        self.out = nn.Linear(c, c)

    def forward(self, x, y, bias=None):
        q = self.q(x).unflatten(2, (self.heads, self.size)).transpose(1, 2)
        k, v = self.kv(y).chunk(2, 2)
        k = k.unflatten(2, (self.heads, self.size)).permute(0, 2, 3, 1)
        v = v.unflatten(2, (self.heads, self.size)).transpose(1, 2)
        score = q @ k * (self.size ** -0.5)
        if bias is not None:
            score = score + bias
        return self.out((score.softmax(-1) @ v).transpose(1, 2).flatten(2))


class TextEncoder(nn.Module):
    """input_ids [B, 40] to last_hidden_state [B, 40, 128]. Padding (id 0) is neither seen nor kept."""

    def __init__(self, words, layers=3):
        super().__init__()
        self.word = nn.Embedding(words, DIM)
        self.place = nn.Parameter(torch.randn(MAX_LENGTH, DIM) * 0.02)
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "n1": nn.LayerNorm(DIM), "attn": Attention(DIM, DIM, 4), "n2": nn.LayerNorm(DIM),
            "mlp": nn.Sequential(nn.Linear(DIM, 3 * DIM), nn.SiLU(), nn.Linear(3 * DIM, DIM)),
        }) for _ in range(layers))
        self.norm = nn.LayerNorm(DIM)
        nn.init.normal_(self.word.weight, std=0.3)

    def forward(self, input_ids):
        keep = (input_ids != 0).to(self.place.dtype)
        bias = ((keep - 1) * 1e4)[:, None, None, :]
        x = self.word(input_ids) + self.place[: input_ids.shape[1]]
        for b in self.blocks:
            y = b["n1"](x)
            x = x + b["attn"](y, y, bias)
            x = x + b["mlp"](b["n2"](x))
        return self.norm(x) * keep[:, :, None]


class Res(nn.Module):
    """Residual block [B, a, h, w] to [B, b, h, w], scaled and shifted by emb [B, EMB]."""

    def __init__(self, a, b):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, padding=1)
        self.n2, self.c2 = nn.GroupNorm(8, b), nn.Conv2d(b, b, 3, padding=1)
        self.emb = nn.Linear(EMB, 2 * b)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()
        nn.init.zeros_(self.c2.weight)
        nn.init.zeros_(self.c2.bias)

    def forward(self, x, emb):
        y = self.c1(F.silu(self.n1(x)))
        scale, shift = self.emb(emb)[:, :, None, None].chunk(2, 1)
        y = self.c2(F.silu(self.n2(y) * (1 + scale) + shift))
        return self.skip(x) + y


class Look(nn.Module):
    """Self-attention, then cross-attention to the text, on [B, c, h, w]."""

    def __init__(self, c, itself=True):
        super().__init__()
        self.itself = itself
        self.n1, self.n2 = nn.GroupNorm(8, c), nn.GroupNorm(8, c)
        if itself:
            self.own = Attention(c, c, c // 32)
        self.text = Attention(c, DIM, c // 32)

    def forward(self, x, text):
        h, w = x.shape[2], x.shape[3]
        if self.itself:
            y = self.n1(x).flatten(2).transpose(1, 2)
            x = x + self.own(y, y).transpose(1, 2).unflatten(2, (h, w))
        y = self.n2(x).flatten(2).transpose(1, 2)
        return x + self.text(y, text).transpose(1, 2).unflatten(2, (h, w))


class UNet(nn.Module):
    """sample [B, 9, h, w], timestep [1] or [B], encoder_hidden_states [B, n, 128] to out_sample
    [B, 9, h, w]: v-prediction, or with clean=True the clean latents. Any h, w of 1 or more."""

    def __init__(self):
        super().__init__()
        a, b, c = WIDTHS
        self.time = nn.Sequential(nn.Linear(128, EMB), nn.SiLU(), nn.Linear(EMB, EMB))
        self.pool = nn.Sequential(nn.Linear(DIM, EMB), nn.SiLU(), nn.Linear(EMB, EMB))
        self.size = nn.Sequential(nn.Linear(4, 64), nn.SiLU(), nn.Linear(64, EMB))
        self.register_buffer("fold", torch.eye(4 * LATENT).view(4 * LATENT, LATENT, 2, 2), persistent=False)
        bar = torch.from_numpy(alphas_cumprod())[:, None]
        self.register_buffer("levels", torch.cat([bar.sqrt(), (1 - bar).sqrt()], 1), persistent=False)
        self.stem = nn.Conv2d(4 * LATENT + 12, a, 3, padding=1)
        self.to2, self.down2, self.look2 = nn.Conv2d(a, b, 3, 2, 1), Res(b, b), Look(b)
        self.to3 = nn.Conv2d(b, c, 3, 2, 1)
        self.mid1, self.mid_look, self.mid2 = Res(c, c), Look(c), Res(c, c)
        self.from3, self.up2, self.up_look2 = nn.Conv2d(c, b, 1), Res(b, b), Look(b)
        self.from2, self.up1, self.last = nn.Conv2d(b, a, 1), Res(a, a), Res(a, a)
        self.norm, self.head = nn.GroupNorm(8, a), nn.Conv2d(a, 4 * LATENT, 3, padding=1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    @staticmethod
    def grid(x):
        """Maps [B, 12, h, w] of the place: in -1..1, and in units of the shorter side with sines and
        cosines of it; and numbers [1, 4] of the size."""
        one = torch.ones_like(x[:, :1])
        gx, gy = one.cumsum(3), one.cumsum(2)
        w, h = gx[:, :, :, -1:], gy[:, :, -1:, :]
        x, y = (2 * gx - 1) / w - 1, (2 * gy - 1) / h - 1
        side = torch.minimum(w[:, :, -1:], h[:, :, :, -1:])
        u, v = x * w / side, y * h / side
        p = torch.cat([u, v], 1) * 3.14159265
        lw, lh, ls = (torch.log(s[:1, 0, 0, :1] / 24) for s in (w, h, side))
        size = torch.cat([lw, lh, ls, 8 / side[:1, 0, 0, :1]], 1)
        return torch.cat([x, y, u, v, p.sin(), p.cos(), (2 * p).sin(), (2 * p).cos()], 1), size

    @staticmethod
    def grow(x, like):
        x = F.interpolate(x, scale_factor=2.0, mode="nearest")
        return x[:, :, : like.shape[2], : like.shape[3]] + like

    def forward(self, sample, timestep, encoder_hidden_states, clean=False):
        text = encoder_hidden_states
        f = torch.exp(-math.log(10000) * torch.arange(64, device=sample.device) / 64)
        t = timestep.to(f.dtype)[:, None] * f
        h, w = sample.shape[2], sample.shape[3]
        # A pixel unshuffle that also takes odd sizes and that exports with dynamic ones.
        x = F.conv2d(F.pad(sample, (0, 1, 0, 1)), self.fold.to(sample.dtype), stride=2)
        places, size = self.grid(x.float())
        emb = self.time(torch.cat([t.sin(), t.cos()], 1)) + self.pool(text[:, 0]) + self.size(size)
        emb = F.silu(emb)
        x1 = self.stem(torch.cat([x, places.to(x.dtype)], 1))
        x2 = self.look2(self.down2(self.to2(x1), emb), text)
        x = self.to3(x2)
        x = self.mid2(self.mid_look(self.mid1(x, emb), text), emb)
        x = self.up_look2(self.up2(self.grow(self.from3(x), x2), emb), text)
        x = self.last(self.up1(self.grow(self.from2(x), x1), emb), emb)
        x = self.head(F.silu(self.norm(x)))
        x = F.pixel_shuffle(x, 2)[:, :, :h, :w]
        if clean:
            return x
        a, s = self.levels[timestep][:, :, None, None].chunk(2, 1)
        return (a * sample - x.float()) / s
