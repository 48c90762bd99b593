"""Muon: momentum whose step is made orthogonal, for the matrices inside a network. It needs far
fewer steps than Adam, which is what counts on a CPU."""
import torch


def orthogonal(m):
    """About U V^T of m = U S V^T, [r, c], by five Newton-Schulz steps."""
    x = m.bfloat16()
    turned = x.shape[0] > x.shape[1]
    x = x.T if turned else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return (x.T if turned else x).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.01, momentum=0.95, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if not s:
                    s["m"] = torch.zeros_like(p)
                s["m"].lerp_(p.grad, 1 - g["momentum"])
                u = orthogonal(p.grad.lerp(s["m"], g["momentum"]).flatten(1))
                p.mul_(1 - g["lr"] * g["weight_decay"])
                p.add_(u.view(p.shape), alpha=-g["lr"] * max(1, u.shape[0] / u.shape[1]) ** 0.5)
