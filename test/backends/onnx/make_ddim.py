"""Writes ddim.json: what DDIM has to do, computed with numpy from the papers' formulas.

    python make_ddim.py          (needs numpy; the tests themselves need no Python)
    npx biome check --write .     (puts the JSON into the form of this repository)

Timesteps, spacing and defaults are those of diffusers' DDIMScheduler with eta 0. The "model" of a
case is output = 0.9 * cos(sample + step), so that every step depends on the one before.
"""
import json
from pathlib import Path

import numpy as np

SAMPLE = np.linspace(-2.5, 2.5, 11)
SD = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}
CASES = {
    "the defaults of diffusers": ({}, 10),
    "Stable Diffusion 1.5": ({**SD, "clip_sample": False, "set_alpha_to_one": False, "steps_offset": 1}, 20),
    "v-prediction with zero terminal SNR": ({**SD, "clip_sample": False, "prediction_type": "v_prediction",
                                             "rescale_betas_zero_snr": True, "timestep_spacing": "trailing"}, 7),
    "sample prediction on a cosine schedule": ({"beta_schedule": "squaredcos_cap_v2", "prediction_type": "sample",
                                                "timestep_spacing": "linspace"}, 12),
    "clipping at another range": ({**SD, "clip_sample": True, "clip_sample_range": 0.4}, 5),
    "betas from the file": ({"trained_betas": [0.01, 0.02, 0.05, 0.1, 0.2, 0.3], "num_train_timesteps": 6,
                             "clip_sample": False}, 3),
    "one step": ({**SD, "clip_sample": False, "timestep_spacing": "trailing"}, 1),
    "a step count that does not divide": ({**SD, "clip_sample": False, "timestep_spacing": "trailing"}, 150),
}


def betas(c):
    n = c.get("num_train_timesteps", 1000)
    if c.get("trained_betas"):
        return np.array(c["trained_betas"])
    kind, lo, hi = c.get("beta_schedule", "linear"), c.get("beta_start", 1e-4), c.get("beta_end", 0.02)
    if kind == "linear":
        return np.linspace(lo, hi, n)
    if kind == "scaled_linear":
        return np.linspace(lo ** 0.5, hi ** 0.5, n) ** 2
    bar = lambda t: np.cos((t + 0.008) / 1.008 * np.pi / 2) ** 2
    i = np.arange(n)
    return np.minimum(1 - bar((i + 1) / n) / bar(i / n), 0.999)


def run(c, steps):
    alphas = np.cumprod(1 - betas(c))
    n = len(alphas)
    if c.get("rescale_betas_zero_snr"):
        root = np.sqrt(alphas)
        alphas = ((root - root[-1]) * root[0] / (root[0] - root[-1])) ** 2
    spacing = c.get("timestep_spacing", "leading")
    if spacing == "linspace":
        ts = np.linspace(0, n - 1, steps).round()[::-1].astype(int)
    elif spacing == "leading":
        ts = (np.arange(steps) * (n // steps)).round()[::-1].astype(int) + c.get("steps_offset", 0)
    else:
        ts = np.round(np.arange(n, 0, -n / steps)).astype(int)[:steps] - 1
    x = SAMPLE.copy()
    for k, t in enumerate(ts):
        y = 0.9 * np.cos(x + k)
        a, prev = alphas[t], t - n // steps
        b = alphas[prev] if prev >= 0 else (1.0 if c.get("set_alpha_to_one", True) else alphas[0])
        kind = c.get("prediction_type", "epsilon")
        if kind == "epsilon":
            clean, noise = (x - (1 - a) ** 0.5 * y) / a ** 0.5, y
        elif kind == "sample":
            clean, noise = y, (x - a ** 0.5 * y) / (1 - a) ** 0.5
        else:
            clean, noise = a ** 0.5 * x - (1 - a) ** 0.5 * y, a ** 0.5 * y + (1 - a) ** 0.5 * x
        if c.get("clip_sample", True):
            r = c.get("clip_sample_range", 1.0)
            clean = np.clip(clean, -r, r)
        x = b ** 0.5 * clean + (1 - b) ** 0.5 * noise
    return {"timesteps": ts.tolist(), "result": x.tolist()}


out = {name: {"config": {"_class_name": "DDIMScheduler", **c}, "steps": s, **run(c, s)}
       for name, (c, s) in CASES.items()}
(Path(__file__).parent / "ddim.json").write_text(
    json.dumps({"sample": SAMPLE.tolist(), "cases": out}, indent=1) + "\n")
