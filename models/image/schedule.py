"""The noise schedule, once, for training, export and reference.

scaled_linear as in Stable Diffusion, but with a larger beta_end: at step 999 nothing of the
picture is left, so that plain backgrounds of any colour can come from pure noise.
"""
import numpy as np

SCHEDULER = {
    "num_train_timesteps": 1000, "beta_start": 0.00085, "beta_end": 0.025,
    "beta_schedule": "scaled_linear", "prediction_type": "v_prediction", "clip_sample": False,
    "set_alpha_to_one": True, "steps_offset": 0, "timestep_spacing": "trailing",
    "thresholding": False, "rescale_betas_zero_snr": False, "trained_betas": None,
}


def alphas_cumprod(config=SCHEDULER):
    """float32 [1000], as diffusers computes it (float32 linspace, square, product)."""
    n = config["num_train_timesteps"]
    betas = np.linspace(config["beta_start"] ** 0.5, config["beta_end"] ** 0.5, n, dtype=np.float64) ** 2
    return np.cumprod(1 - betas).astype(np.float32)
