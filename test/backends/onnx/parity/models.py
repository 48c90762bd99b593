"""Tiny random-weight models of each layout, as diffusers pipelines: SD 1.5, SDXL, Turbo (SD 2.1).

Architecture, names and options are those of the real ones; only the sizes are small.
"""
import json
from pathlib import Path

import torch
from diffusers import (AutoencoderKL, EulerDiscreteScheduler, LatentConsistencyModelPipeline, LCMScheduler,
                       PNDMScheduler, StableDiffusionPipeline, StableDiffusionXLPipeline, UNet2DConditionModel)
from diffusers.pipelines.stable_diffusion import StableDiffusionSafetyChecker
from transformers import (CLIPConfig, CLIPImageProcessor, CLIPTextConfig, CLIPTextModel,
                          CLIPTextModelWithProjection, CLIPTokenizer)
from transformers.models.clip.tokenization_clip import bytes_to_unicode

LENGTH = 16
MERGES = ["r e", "re d</w>", "b l", "u e</w>", "bl ue</w>", "c i", "ci r", "c l", "cir cl", "circl e</w>",
          "o n</w>", "t h", "th e</w>", "s q", "u a", "sq ua", "squa re</w>"]
BETAS = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear")


def tokenizer(folder, pad="<|endoftext|>"):
    letters = list(bytes_to_unicode().values())
    words = letters + [c + "</w>" for c in letters] + ["".join(m.split()) for m in MERGES]
    vocabulary = {w: i for i, w in enumerate([*words, "<|startoftext|>", "<|endoftext|>"])}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(MERGES) + "\n")
    return CLIPTokenizer(folder / "vocab.json", folder / "merges.txt", model_max_length=LENGTH, pad_token=pad)


def text_config(tokens, hidden, **more):
    return CLIPTextConfig(
        vocab_size=len(tokens), hidden_size=hidden, intermediate_size=2 * hidden, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=LENGTH, bos_token_id=len(tokens) - 2,
        eos_token_id=len(tokens) - 1, pad_token_id=len(tokens) - 1, projection_dim=hidden, **more)


def unet(**more):
    settings = dict(
        sample_size=8, in_channels=4, out_channels=4, block_out_channels=(4, 8), layers_per_block=1,
        norm_num_groups=2, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=8, attention_head_dim=2)
    return UNet2DConditionModel(**{**settings, **more})


def vae(**more):
    return AutoencoderKL(
        block_out_channels=(4, 8), down_block_types=("DownEncoderBlock2D",) * 2, norm_num_groups=2,
        up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, layers_per_block=1, sample_size=16, **more)


def lively(model, scale=3.0):
    """Default weights make a model that says nearly the same to everything. Rounded, they pack well."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.ndim > 1 and "embedding" not in name:
                value.mul_(scale)
            value.copy_(value.bfloat16().float())
    return model.eval()


def sd15(folder):
    torch.manual_seed(15)
    tokens = tokenizer(folder / "words")
    checker = StableDiffusionSafetyChecker(CLIPConfig(
        projection_dim=8, text_config=text_config(tokens, 8).to_dict(),
        vision_config=dict(hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                           image_size=28, patch_size=14, projection_dim=8)))
    with torch.no_grad():
        checker.concept_embeds.normal_()
        checker.special_care_embeds.normal_()
        checker.concept_embeds_weights.fill_(0.6)
        checker.special_care_embeds_weights.fill_(0.9)
    return StableDiffusionPipeline(
        vae=lively(vae()), unet=lively(unet()), tokenizer=tokens,
        text_encoder=lively(CLIPTextModel(text_config(tokens, 8))),
        scheduler=PNDMScheduler(**BETAS, skip_prk_steps=True, steps_offset=1, set_alpha_to_one=False),
        safety_checker=checker.eval(),
        feature_extractor=CLIPImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}))


def sdxl(folder):
    torch.manual_seed(1)
    one, two = tokenizer(folder / "words"), tokenizer(folder / "words_2", pad="!")
    return StableDiffusionXLPipeline(
        vae=lively(vae(scaling_factor=0.13025)),
        unet=lively(unet(
            cross_attention_dim=16, addition_embed_type="text_time", addition_time_embed_dim=4,
            projection_class_embeddings_input_dim=6 * 4 + 8, use_linear_projection=True,
            transformer_layers_per_block=(1, 2), attention_head_dim=(2, 4),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"))),
        tokenizer=one, tokenizer_2=two,
        text_encoder=lively(CLIPTextModel(text_config(one, 8))),
        text_encoder_2=lively(CLIPTextModelWithProjection(text_config(two, 8, hidden_act="gelu"))),
        scheduler=EulerDiscreteScheduler(**BETAS, steps_offset=1, timestep_spacing="leading"))


def turbo(folder):
    """As SD-Turbo: the architecture of SD 2.1, made for one to four steps without guidance."""
    torch.manual_seed(2)
    tokens = tokenizer(folder / "words", pad="!")
    return StableDiffusionPipeline(
        vae=sd15(folder).vae,  # stored once
        unet=lively(unet(use_linear_projection=True, attention_head_dim=(2, 4))),
        tokenizer=tokens, text_encoder=lively(CLIPTextModel(text_config(tokens, 8, hidden_act="gelu"))),
        scheduler=EulerDiscreteScheduler(**BETAS, steps_offset=1, timestep_spacing="trailing"),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False)


def lcm(folder):
    """As LCM Dreamshaper: guidance goes into the model as an embedding. The rest is that of sd15."""
    base = sd15(folder)
    torch.manual_seed(3)
    return LatentConsistencyModelPipeline(
        vae=base.vae, unet=lively(unet(time_cond_proj_dim=8)), tokenizer=base.tokenizer,
        text_encoder=base.text_encoder, scheduler=LCMScheduler(),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False)


LAYOUTS = {"sd15": sd15, "sdxl": sdxl, "turbo": turbo, "lcm": lcm}
