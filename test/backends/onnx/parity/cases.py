"""What is compared: a layout, a scheduler, and a request each."""

RED, BLUE = "a red circle on the blue square", "the blue square"
DDIM, PNDM, LCM = "DDIMScheduler", "PNDMScheduler", "LCMScheduler"
EULER, ANCESTRAL = "EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler"
DPM = "DPMSolverMultistepScheduler"
SDE = dict(algorithm_type="sde-dpmsolver++")
V = dict(prediction_type="v_prediction")


def case(name, layout, scheduler=None, steps=6, guidance=3.0, prompt=RED, negative="", seed=7,
         width=24, height=16, loras=None, **config):
    return dict(name=name, layout=layout, scheduler=scheduler, config=config, steps=steps, guidance=guidance,
                prompt=prompt, negative=negative, seed=seed, width=width, height=height, loras=loras or {})


CASES = [
    # The default of each layout.
    case("sd15 as it comes (PNDM)", "sd15", steps=12, guidance=7.5),
    case("sdxl as it comes (Euler, leading)", "sdxl"),
    case("turbo as it comes, one step", "turbo", steps=1, guidance=0.0),
    case("turbo as it comes, four steps", "turbo", steps=4, guidance=0.0),
    case("lcm as it comes", "lcm", steps=4, guidance=8.0),
    # Requests.
    case("sd15 with a negative prompt", "sd15", DDIM, negative=BLUE),
    case("sd15 without guidance", "sd15", DDIM, guidance=1.0, negative=BLUE),
    case("sd15, an empty prompt", "sd15", DDIM, prompt=""),
    case("sd15, a prompt that is too long", "sd15", DDIM, prompt=f"{RED}, {RED}, {RED}"),
    case("sd15, letters of other kinds", "sd15", DDIM, prompt="Ein RÖTER Kreis's 12 — 日本 \U0001f600"),
    case("sdxl with a negative prompt", "sdxl", negative=BLUE),
    case("sdxl, a prompt for each encoder", "sdxl", prompt=f"{RED} | {BLUE}", negative=f"{BLUE} | a circle"),
    case("sdxl of another size", "sdxl", width=16, height=32),
    case("sdxl without guidance", "sdxl", guidance=0.0, negative=BLUE),
    # Schedulers.
    case("DDIM, trailing, v", "sd15", DDIM, timestep_spacing="trailing", **V),
    case("DDIM, linspace, sample, clipped", "sd15", DDIM, timestep_spacing="linspace",
         prediction_type="sample", clip_sample=True, clip_sample_range=1.5),
    case("DDIM, no signal at the end", "sd15", DDIM, timestep_spacing="trailing", rescale_betas_zero_snr=True, **V),
    case("PNDM with its run-up", "sd15", PNDM, steps=9, skip_prk_steps=False),
    case("PNDM, v, trailing", "sd15", PNDM, timestep_spacing="trailing", **V),
    case("PNDM, one step", "sd15", PNDM, steps=1),
    case("Euler, linspace", "sd15", EULER, timestep_spacing="linspace"),
    case("Euler, trailing", "sd15", EULER, timestep_spacing="trailing", steps=16),
    case("Euler, v, no signal at the end", "sd15", EULER, timestep_spacing="trailing",
         rescale_betas_zero_snr=True, **V),
    case("Euler, sample", "sd15", EULER, prediction_type="sample"),
    case("Euler, Karras", "sd15", EULER, use_karras_sigmas=True),
    case("Euler, exponential, ends with noise", "sd15", EULER, use_exponential_sigmas=True,
         final_sigmas_type="sigma_min"),
    case("Euler, interpolated by logarithms", "sd15", EULER, interpolation_type="log_linear"),
    case("Euler ancestral, leading", "sd15", ANCESTRAL, timestep_spacing="leading"),
    case("Euler ancestral, v", "sd15", ANCESTRAL, timestep_spacing="linspace", **V),
    case("Euler ancestral on sdxl, as SDXL-Turbo", "sdxl", ANCESTRAL, timestep_spacing="trailing", steps=3,
         guidance=0.0),
    case("DPM++ 2M", "sd15", DPM, timestep_spacing="linspace"),
    case("DPM++ 2M, twenty steps", "sd15", DPM, steps=20, timestep_spacing="linspace"),
    case("DPM++ 2M, leading, v", "sd15", DPM, timestep_spacing="leading", **V),
    case("DPM++ 2M, trailing, sample", "sd15", DPM, timestep_spacing="trailing", prediction_type="sample"),
    case("DPM++ 2M Karras", "sd15", DPM, use_karras_sigmas=True),
    case("DPM++ 2M Karras on sdxl", "sdxl", DPM, use_karras_sigmas=True),
    case("DPM++ 2M, lambdas of Lu", "sd15", DPM, use_lu_lambdas=True),
    case("DPM++ 2M, exponential", "sd15", DPM, use_exponential_sigmas=True),
    case("DPM++ 2M, Heun, Euler at the end", "sd15", DPM, solver_type="heun", euler_at_final=True),
    case("DPM++ 2M, clipped, ends with noise", "sd15", DPM, steps=15, lambda_min_clipped=-5.1,
         final_sigmas_type="sigma_min"),
    case("DPM++ 3M", "sd15", DPM, steps=16, solver_order=3),
    case("DPM++ of the first order", "sd15", DPM, solver_order=1),
    case("DPM++ 2M SDE Karras", "sd15", DPM, use_karras_sigmas=True, **SDE),
    case("DPM++ 2M SDE, Heun", "sd15", DPM, solver_type="heun", **SDE),
    case("DPM++ 3M SDE", "sd15", DPM, steps=16, solver_order=3, **SDE),
    case("LCM on sd15", "sd15", LCM, steps=4, guidance=1.5),
    case("LCM, v, taught on few steps", "sd15", LCM, steps=3, original_inference_steps=20, **V),
    # LoRAs.
    case("a LoRA in diffusers' naming", "sd15", DDIM, loras={"plain": 1.0}),
    case("the same, half", "sd15", DDIM, loras={"plain": 0.5}),
    case("a LoRA in diffusers' older naming", "sd15", DDIM, loras={"older": 0.8}),
    case("a LoRA with its settings in the header", "sd15", DDIM, loras={"scaled": 1.0}),
    case("a LoRA in kohya's naming, convolutions too", "sd15", DDIM, loras={"kohya": 1.0}),
    case("two LoRAs", "sd15", DDIM, loras={"plain": 0.6, "kohya": 1.2}),
    case("sdxl, a LoRA in diffusers' naming", "sdxl", loras={"plain": 1.0}),
    case("sdxl, a LoRA in kohya's naming with the blocks of SGM", "sdxl", loras={"sgm": 0.9}),
]
