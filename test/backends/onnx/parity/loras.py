"""Random LoRAs of the tiny models, in every naming that is read."""
import json

import torch
from safetensors.torch import save_file
from torch import nn

RANK = 2


def modules(model, wanted):
    return {name: m for name, m in model.named_modules()
            if isinstance(m, (nn.Linear, nn.Conv2d)) and any(w in f".{name}." for w in wanted)}


def factors(module, rank, seed):
    """down, up as peft shapes them."""
    g = torch.Generator().manual_seed(seed)
    draw = lambda *shape: (0.4 * torch.randn(shape, generator=g)).bfloat16().float()
    if isinstance(module, nn.Linear):
        return draw(rank, module.in_features), draw(module.out_features, rank)
    return draw(rank, module.in_channels, *module.kernel_size), draw(module.out_channels, rank, 1, 1)


ATTENTION = [".to_q.", ".to_k.", ".to_v.", ".to_out.0."]
TEXT = [".q_proj.", ".v_proj.", ".out_proj."]
BROAD = [*ATTENTION, ".proj_in.", ".proj_out.", ".net.0.proj.", ".net.2.", ".conv1.", ".conv2.",
         ".conv_shortcut.", ".time_emb_proj.", ".downsamplers.0.conv.", ".upsamplers.0.conv."]


def plain(pipe):
    out = {}
    for part in ("unet", "text_encoder", "text_encoder_2"):
        model = getattr(pipe, part, None)
        if model is None:
            continue
        for i, (name, m) in enumerate(modules(model, ATTENTION if part == "unet" else TEXT).items()):
            down, up = factors(m, RANK, 100 + i)
            out[f"{part}.{name}.lora_A.weight"], out[f"{part}.{name}.lora_B.weight"] = down, up
    return out, {}


def older(pipe):
    out = {}
    for i, (name, m) in enumerate(modules(pipe.unet, ATTENTION).items()):
        down, up = factors(m, RANK, 200 + i)
        place, which = name.removesuffix(".0").rsplit(".", 1)
        out[f"unet.{place}.processor.{which}_lora.down.weight"] = down
        out[f"unet.{place}.processor.{which}_lora.up.weight"] = up
    for i, (name, m) in enumerate(modules(pipe.text_encoder, TEXT).items()):
        down, up = factors(m, RANK, 300 + i)
        out[f"text_encoder.{name}.lora_linear_layer.down.weight"] = down
        out[f"text_encoder.{name}.lora_linear_layer.up.weight"] = up
    return out, {}


def scaled(pipe):
    out, settings = {}, {}
    for i, (name, m) in enumerate(modules(pipe.unet, [".to_q.", ".to_v."]).items()):
        down, up = factors(m, 4, 400 + i)
        out[f"unet.{name}.lora_A.weight"], out[f"unet.{name}.lora_B.weight"] = down, up
    settings = {"unet.r": 4, "unet.lora_alpha": 2, "unet.target_modules": ["to_q", "to_v"],
                "unet.alpha_pattern": {"mid_block.attentions.0.transformer_blocks.0.attn1.to_q": 6},
                "unet.rank_pattern": {}, "unet.use_rslora": True, "unet.lora_bias": False,
                "unet.use_dora": False, "unet.peft_type": "LORA"}
    return out, {"format": "pt", "lora_adapter_metadata": json.dumps(settings)}


def kohya_modules(pipe):
    yield from (("lora_unet_", n, m) for n, m in modules(pipe.unet, BROAD).items())
    two = hasattr(pipe, "text_encoder_2")
    yield from (("lora_te1_" if two else "lora_te_", n, m) for n, m in modules(pipe.text_encoder, TEXT).items())
    if two:
        yield from (("lora_te2_", n, m) for n, m in modules(pipe.text_encoder_2, TEXT).items())


def kohya(pipe, rename=lambda name: name):
    out = {}
    for i, (prefix, name, m) in enumerate(kohya_modules(pipe)):
        name = rename(name) if prefix == "lora_unet_" else name
        down, up = factors(m, RANK, 500 + i)
        key = prefix + name.replace(".", "_")
        out[f"{key}.lora_down.weight"], out[f"{key}.lora_up.weight"] = down, up
        # As kohya's scripts have it: one alpha for convolutions, one for all else.
        out[f"{key}.alpha"] = torch.tensor(3.0 if isinstance(m, nn.Conv2d) and m.kernel_size[0] > 1 else 1.0)
    return out, {"ss_network_module": "networks.lora"}


def sgm_name(name):
    """diffusers' name of a module of the tiny SDXL UNet as Stability's own code has it."""
    for ours, theirs in {
        "down_blocks.0.resnets.0": "input_blocks.1.0", "down_blocks.0.downsamplers.0.conv": "input_blocks.2.0.op",
        "down_blocks.1.resnets.0": "input_blocks.3.0", "down_blocks.1.attentions.0": "input_blocks.3.1",
        "mid_block.resnets.0": "middle_block.0", "mid_block.attentions.0": "middle_block.1",
        "mid_block.resnets.1": "middle_block.2",
        "up_blocks.0.resnets.0": "output_blocks.0.0", "up_blocks.0.attentions.0": "output_blocks.0.1",
        "up_blocks.0.resnets.1": "output_blocks.1.0", "up_blocks.0.attentions.1": "output_blocks.1.1",
        "up_blocks.0.upsamplers.0.conv": "output_blocks.1.2.conv",
        "up_blocks.1.resnets.0": "output_blocks.2.0", "up_blocks.1.resnets.1": "output_blocks.3.0",
    }.items():
        if name.startswith(ours):
            name = theirs + name[len(ours):]
            break
    if "blocks." in name or "middle_block." in name:
        for ours, theirs in {".conv1": ".in_layers.2", ".conv2": ".out_layers.3",
                             ".time_emb_proj": ".emb_layers.1", ".conv_shortcut": ".skip_connection"}.items():
            name = name.replace(ours, theirs)
    return name


FILES = {"sd15": {"plain": plain, "older": older, "scaled": scaled, "kohya": kohya},
         "sdxl": {"plain": plain, "sgm": lambda pipe: kohya(pipe, sgm_name)}}


def write(layout, pipe, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FILES.get(layout, {}).items():
        tensors, metadata = make(pipe)
        save_file({k: v.contiguous() for k, v in tensors.items()}, folder / f"{name}.safetensors", metadata)
