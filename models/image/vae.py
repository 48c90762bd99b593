"""The decoder: latents [B, 9, h, w] (see latents.py) to a picture [B, 3, 32h, 32w].

At a quarter of full size it says where the edges run, at a sixteenth which colours lie on both sides;
at full size it only interpolates both and mixes the colours by a sigmoid. So edges are crisp at any
size and full size costs little.
"""
import torch
import torch.nn.functional as F
from torch import nn

from latents import CHANNELS as LATENT
from latents import FACTOR


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


class Decoder(nn.Module):
    """[B, 9, h, w] to [B, 3, 32h, 32w], about in [-1, 1]."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(LATENT, 64, 3, padding=1), Res(64), Res(64),
            nn.Conv2d(64, 4 * 32, 1), nn.PixelShuffle(2), Res(32), Res(32))
        self.colour = nn.Conv2d(32, 6, 1)
        self.edge = nn.Sequential(
            nn.Conv2d(32, 4 * 16, 1), nn.PixelShuffle(2), Res(16), nn.SiLU(),
            nn.Conv2d(16, 4, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, z):
        how = dict(mode="bilinear", align_corners=False)
        x = self.body(F.pad(z, (2, 2, 2, 2), mode="replicate"))
        edge = self.edge(x[:, :, 2:-2, 2:-2])[:, :, 8:-8, 8:-8]
        edge = F.interpolate(8 * edge.float(), scale_factor=FACTOR / 8, **how)
        colour = self.colour(F.silu(x[:, :, 4:-4, 4:-4])).float()
        colour = F.interpolate(colour, scale_factor=FACTOR / 2, **how)
        inside = torch.sigmoid(edge)
        return colour[:, :3] + inside * (colour[:, 3:] - colour[:, :3])
