"""The autoencoder. Factor 32: a picture [B, 3, 32h, 32w] is a latent [B, 12, h, w].

The encoder only serves training and reads the picture at a quarter of its size; anti-aliasing
keeps the edges' exact places. The decoder draws: at a quarter and an eighth of full size it says,
for three layers, where each lies and which colour it has; at full size it only interpolates both
and mixes the layers by a softmax. So edges are crisp at any size and full size costs little.
"""
import torch
import torch.nn.functional as F
from torch import nn

LATENT = 12
FACTOR = 32
LAYERS = 3


class Res(nn.Module):
    """Two 3x3 convolutions and a shortcut, [B, c, h, w] to the same; no normalisation, which
    would tie the colour of a place to the rest of the picture."""

    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, c, 3, padding=1)
        self.b = nn.Conv2d(c, c, 3, padding=1)
        nn.init.normal_(self.b.weight, std=0.01)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        return x + self.b(F.silu(self.a(F.silu(x))))


class Encoder(nn.Module):
    """[B, 3, 8h, 8w] in [-1, 1], a quarter of the picture's size, to [B, 12, h, w] of mean 0 and
    variance 1 in each channel (the running statistics of the last layer see to that)."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.PixelUnshuffle(4), nn.Conv2d(48, 64, 3, padding=1), Res(64),
            nn.PixelUnshuffle(2), nn.Conv2d(256, 128, 1), Res(128), Res(128),
            nn.SiLU(), nn.Conv2d(128, LATENT, 1))
        self.norm = nn.BatchNorm2d(LATENT, affine=False, momentum=0.02)

    def forward(self, x):
        return self.norm(self.net(x).float())


class Decoder(nn.Module):
    """[B, 12, h, w] to [B, 3, 32h, 32w], about in [-1, 1]. up=1 draws at a quarter of that, which
    is how most of the training goes."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(LATENT, 128, 3, padding=1), Res(128), Res(128),
            nn.Conv2d(128, 4 * 48, 1), nn.PixelShuffle(2), Res(48),
            nn.Conv2d(48, 4 * 32, 1), nn.PixelShuffle(2), Res(32), nn.SiLU())
        self.where = nn.Sequential(nn.Conv2d(32, 4 * LAYERS, 3, padding=1), nn.PixelShuffle(2))
        self.colour = nn.Conv2d(32, 3 * LAYERS, 1)

    def forward(self, z, up=4):
        x = self.body(z)
        how = dict(mode="bilinear", align_corners=False)
        where = 4 * self.where(x).float()
        if up > 1:
            where = F.interpolate(where, scale_factor=float(up), **how)
        colour = F.interpolate(self.colour(x).float(), scale_factor=2.0 * up, **how)
        share = torch.softmax(where, 1)
        return sum(share[:, i:i + 1] * colour[:, 3 * i:3 * i + 3] for i in range(LAYERS))
