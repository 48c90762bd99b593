"""Muon: momentum whose step is made orthogonal; the optimizer of the matrices inside the layers."""

from __future__ import annotations

import torch

# A CPU without the instructions for bfloat16 emulates them, thirty times as slow as single precision.
PRECISION = torch.bfloat16 if torch.ops.mkldnn._is_mkldnn_bf16_supported() else torch.float32


def orthogonal(m: torch.Tensor) -> torch.Tensor:
    """About U V^T of m = U S V^T, by five Newton-Schulz steps; bfloat16 is exact enough for them."""
    x = m.to(PRECISION)
    flip = x.shape[0] > x.shape[1]
    x = x.T if flip else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.T if flip else x).float()


class Muon(torch.optim.Optimizer):
    """For matrices only; `decay` is multiplied by the learning rate."""

    def __init__(self, params, lr: float, momentum: float = 0.95, decay: float = 0.05):
        super().__init__(list(params), {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                buffer = state.setdefault("buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonal(p.grad.lerp(buffer, group["momentum"]))
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(update, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)
