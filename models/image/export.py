"""Write the diffusers folder with ONNX files from the checkpoints.  python export.py [folder]

Reads .work/vae.pt and .work/unet.pt (parts that are missing are exported untrained); writes
lintel-image/, or the folder named.
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import torch

from captions import MAX_LENGTH, make_tokenizer, vocabulary
from latents import CHANNELS as LATENT
from latents import MEAN, STD
from schedule import SCHEDULER
from unet import DIM, WIDTHS, TextEncoder, UNet
from vae import Decoder

HERE = Path(__file__).parent
OUT = Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "lintel-image")
VERSION = "0.35.0"  # of the layout, as diffusers writes it


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def name_weights(m, model):
    """Names every weight of the graph as its module and gives it its module's layout ([out, in] for
    linear ones, turned by a Transpose node that the runtime folds away), so that a LoRA finds it."""
    inits = {w.name: w for w in m.graph.initializer}
    values = {n: onnx.numpy_helper.to_array(w) for n, w in inits.items()}
    renamed, turned = {}, []
    for name, p in model.named_parameters():
        a = p.detach().numpy()
        if a.ndim < 2 or name in values:
            continue
        same = [n for n, v in values.items() if v.shape == a.shape and np.array_equal(v, a)]
        flipped = [n for n, v in values.items() if a.ndim == 2 and v.shape == a.T.shape and np.array_equal(v, a.T)]
        if same:
            renamed[same[0]] = name
        elif flipped:
            inits[flipped[0]].CopyFrom(onnx.numpy_helper.from_array(a, name))
            turned.append(onnx.helper.make_node("Transpose", [name], [flipped[0]], perm=[1, 0]))
        else:
            raise SystemExit(f"{name} is not in the graph")
    for old, new in renamed.items():
        inits[old].name = new
    for node in m.graph.node:
        node.input[:] = [renamed.get(n, n) for n in node.input]
    nodes = list(m.graph.node)
    del m.graph.node[:]
    m.graph.node.extend(turned + nodes)


def halve(m, names):
    """Store the named weights that are large as float16, cast back at load (the runtime folds the
    casts away): half the size, the same float32 arithmetic."""
    casts, wide = [], {}
    for i, w in enumerate(m.graph.initializer):
        a = onnx.numpy_helper.to_array(w)
        if w.name in names and a.size >= 256:
            wide[w.name] = w.name + "_f32"
            casts.append(onnx.helper.make_node("Cast", [w.name], [wide[w.name]], to=onnx.TensorProto.FLOAT))
            m.graph.initializer[i].CopyFrom(onnx.numpy_helper.from_array(a.astype(np.float16), w.name))
    nodes = list(m.graph.node)
    for node in nodes:
        node.input[:] = [wide.get(n, n) for n in node.input]
    del m.graph.node[:]
    m.graph.node.extend(casts + nodes)


def onnx_file(model, args, path, inputs, output, dynamic):
    path.parent.mkdir(parents=True, exist_ok=True)
    model.eval()
    torch.onnx.export(model, args, str(path), input_names=inputs, output_names=[output],
                      dynamic_shapes=dynamic, opset_version=18, dynamo=True, external_data=False,
                      optimize=True)
    m = onnx.load(path)
    for node in m.graph.node:  # the exporter's notes hold file paths
        del node.metadata_props[:]
        node.doc_string = ""
    for v in [*m.graph.value_info, *m.graph.input, *m.graph.output, *m.graph.initializer]:
        del v.metadata_props[:]
    del m.metadata_props[:], m.graph.metadata_props[:]
    name_weights(m, model)
    halve(m, dict(model.named_parameters()))
    onnx.checker.check_model(m)
    onnx.save(m, path)
    print(path, path.stat().st_size)


def preview():
    """(factors [9][3], bias [3]) of a linear picture, 0 to 1, one pixel per cell: the background's
    colour, paler, with things as dark shadows. What things look like is not linear in the latents."""
    mean, std = MEAN.ravel(), STD.ravel()
    factors, bias = np.zeros((LATENT, 3)), np.full(3, 0.13)
    factors[0] = 0.055
    for k in range(3):
        factors[3 + k, k] = 0.4 * std[3 + k]
        bias[k] += 0.4 * (mean[3 + k] + 1)
    return factors.round(4).tolist(), bias.round(4).tolist()


def main():
    torch.manual_seed(0)
    text, unet, dec = TextEncoder(len(vocabulary())), UNet(), Decoder()
    if (HERE / ".work/vae.pt").exists():
        dec.load_state_dict(torch.load(HERE / ".work/vae.pt")["dec"])
    if (HERE / ".work/unet.pt").exists():
        saved = torch.load(HERE / ".work/unet.pt")
        text.load_state_dict(saved["ema_text"])
        unet.load_state_dict(saved["ema_unet"])
    b0 = torch.export.Dim.DYNAMIC
    onnx_file(text, (torch.zeros(2, MAX_LENGTH, dtype=torch.long),),
              OUT / "text_encoder/model.onnx", ["input_ids"], "last_hidden_state", ({0: b0},))
    onnx_file(unet, (torch.randn(2, LATENT, 10, 14), torch.tensor([5]), torch.randn(2, MAX_LENGTH, DIM)),
              OUT / "unet/model.onnx", ["sample", "timestep", "encoder_hidden_states"], "out_sample",
              ({0: b0, 2: b0, 3: b0}, {}, {0: b0, 1: b0}))
    onnx_file(dec, (torch.randn(2, LATENT, 10, 14),),
              OUT / "vae_decoder/model.onnx", ["latent_sample"], "sample", ({0: b0, 2: b0, 3: b0},))

    v = {"_diffusers_version": VERSION}
    write(OUT / "model_index.json", {
        "_class_name": "StableDiffusionPipeline", **v, "feature_extractor": [None, None],
        "safety_checker": [None, None], "requires_safety_checker": False,
        "scheduler": ["diffusers", "DDIMScheduler"], "tokenizer": ["transformers", "PreTrainedTokenizerFast"],
        "text_encoder": ["diffusers", "OnnxRuntimeModel"], "unet": ["diffusers", "OnnxRuntimeModel"],
        "vae_decoder": ["diffusers", "OnnxRuntimeModel"]})
    write(OUT / "scheduler/scheduler_config.json", {"_class_name": "DDIMScheduler", **v, **SCHEDULER})
    write(OUT / "text_encoder/config.json", {
        "architectures": ["LintelTextEncoder"], "hidden_size": DIM, "max_position_embeddings": MAX_LENGTH,
        "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": len(vocabulary()),
        "bos_token_id": 1, "pad_token_id": 0})
    write(OUT / "unet/config.json", {
        "_class_name": "UNet2DConditionModel", **v, "in_channels": LATENT, "out_channels": LATENT,
        "sample_size": [18, 32], "cross_attention_dim": DIM, "block_out_channels": list(WIDTHS)})
    write(OUT / "vae_decoder/config.json", {
        "_class_name": "AutoencoderKL", **v, "in_channels": 3, "out_channels": 3,
        "latent_channels": LATENT, "scaling_factor": 1.0,
        "latent_rgb_factors": preview()[0], "latent_rgb_factors_bias": preview()[1],
        "block_out_channels": [16, 16, 16, 16, 32, 64], "sample_size": [576, 1024]})
    tok = make_tokenizer()
    write(OUT / "tokenizer/tokenizer.json", json.loads(tok.to_str()))
    write(OUT / "tokenizer/tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_LENGTH,
        "padding_side": "right", "truncation_side": "right", "pad_token": "<pad>", "bos_token": "<s>",
        "unk_token": "<unk>", "do_lower_case": True})
    total = sum(p.stat().st_size for p in OUT.rglob("*") if p.is_file())
    print(f"total {total} bytes")


if __name__ == "__main__":
    main()
