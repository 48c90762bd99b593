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
from schedule import SCHEDULER
from unet import DIM, WIDTHS, TextEncoder, UNet
from vae import LATENT, Decoder

HERE = Path(__file__).parent
OUT = Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "lintel-image")
VERSION = "0.35.0"  # of the layout, as diffusers writes it


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def halve(m):
    """Store large weights as float16, cast back at load (the runtime folds the casts away): half
    the size, the same float32 arithmetic."""
    casts = []
    for i, w in enumerate(m.graph.initializer):
        a = onnx.numpy_helper.to_array(w)
        if a.dtype == np.float32 and a.size >= 256:
            half = w.name + "_f16"
            casts.append(onnx.helper.make_node("Cast", [half], [w.name], to=onnx.TensorProto.FLOAT))
            m.graph.initializer[i].CopyFrom(onnx.numpy_helper.from_array(a.astype(np.float16), half))
    nodes = list(m.graph.node)
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
    halve(m)
    onnx.checker.check_model(m)
    onnx.save(m, path)
    print(path, path.stat().st_size)


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
        "block_out_channels": [32, 32, 32, 48, 128, 128], "sample_size": [576, 1024]})
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
