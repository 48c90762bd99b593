"""Writes the model folders that the tests of the image engine run: tiny/ and half/.

    python make_models.py        (needs numpy and onnx; the tests themselves need no Python)
    npx biome check --write .     (puts the JSON into the form of this repository)

Both are in the layout that Hugging Face optimum exports Stable Diffusion 1.5 to, with fixed
random weights of a few KB: 4 latent channels, factor 8, prompts of 8 tokens. The UNet is

    out = conv(silu(conv(sample))) + text + 0.0005 * timestep

where `text` is a number per channel, made of the mean of the text states; the decoder repeats
each latent 8 times 8 and mixes the channels to colours. half/ has the other types that exports
come with: float16, int32 ids, and a timestep that is one float without dimensions.
"""
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
WORDS = ["<pad>", "<s>", "</s>", "<unk>", "a", "red", "green", "blue", "circle", "square", "on"]
LENGTH, DIM, CHANNELS, HIDDEN = 8, 4, 4, 8


def tensor(name, values, dtype):
    return numpy_helper.from_array(np.asarray(values).astype(dtype), name)


def save(path, nodes, inputs, output, weights):
    graph = helper.make_graph(nodes, "g", inputs, [output], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def make(folder, half):
    rng = np.random.default_rng(7)
    dtype, float_type = (np.float16, TensorProto.FLOAT16) if half else (np.float32, TensorProto.FLOAT)
    id_type = TensorProto.INT32 if half else TensorProto.INT64
    info = helper.make_tensor_value_info
    weight = lambda *shape: rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)

    save(folder / "text_encoder/model.onnx",
         [helper.make_node("Gather", ["words", "input_ids"], ["last_hidden_state"])],
         [info("input_ids", id_type, ["batch", LENGTH])],
         info("last_hidden_state", TensorProto.FLOAT, ["batch", LENGTH, DIM]),
         [tensor("words", rng.standard_normal((len(WORDS), DIM)), np.float32)])

    time = [] if half else ["steps"]
    save(folder / "unet/model.onnx", [
        helper.make_node("Conv", ["sample", "w1", "b1"], ["h1"], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["h1"], ["gate"]),
        helper.make_node("Mul", ["h1", "gate"], ["h2"]),
        helper.make_node("Conv", ["h2", "w2"], ["h3"], pads=[1, 1, 1, 1]),
        helper.make_node("ReduceMean", ["encoder_hidden_states"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["mean", "wt"], ["text"]),
        helper.make_node("Reshape", ["text", "shape"], ["text4"]),
        helper.make_node("Cast", ["timestep"], ["t"], to=float_type),
        helper.make_node("Mul", ["t", "slope"], ["rise"]),
        helper.make_node("Add", ["h3", "text4"], ["sum"]),
        helper.make_node("Add", ["sum", "rise"], ["out_sample"]),
    ], [
        info("sample", float_type, ["batch", CHANNELS, "height", "width"]),
        info("timestep", TensorProto.FLOAT if half else TensorProto.INT64, time),
        info("encoder_hidden_states", float_type, ["batch", "length", DIM]),
    ], info("out_sample", float_type, ["batch", CHANNELS, "height", "width"]), [
        tensor("w1", weight(HIDDEN, CHANNELS, 3, 3), dtype),
        tensor("b1", rng.standard_normal(HIDDEN) * 0.1, dtype),
        tensor("w2", weight(CHANNELS, HIDDEN, 3, 3), dtype),
        tensor("wt", weight(DIM, CHANNELS), dtype),
        tensor("slope", [0.0005], dtype),
        tensor("shape", [-1, CHANNELS, 1, 1], np.int64),
    ])

    save(folder / "vae_decoder/model.onnx", [
        helper.make_node("Resize", ["latent_sample", "", "scales"], ["large"], mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        helper.make_node("Conv", ["large", "w"], ["sample"]),
    ], [info("latent_sample", float_type, ["batch", CHANNELS, "height", "width"])],
        info("sample", float_type, ["batch", 3, "H", "W"]),
        [tensor("scales", [1, 1, 8, 8], np.float32),
         tensor("w", np.array([[.3, 0, 0, .1], [0, .3, 0, .1], [0, 0, .3, .1]])[:, :, None, None], dtype)])

    write(folder / "model_index.json", {"_class_name": "StableDiffusionPipeline"})
    write(folder / "scheduler/scheduler_config.json", {
        "_class_name": "DDIMScheduler", "num_train_timesteps": 1000, "beta_start": 0.00085,
        "beta_end": 0.012, "beta_schedule": "scaled_linear", "clip_sample": False,
        "set_alpha_to_one": False, "steps_offset": 1, "prediction_type": "epsilon"})
    write(folder / "text_encoder/config.json", {"max_position_embeddings": LENGTH})
    write(folder / "unet/config.json", {"in_channels": CHANNELS})
    write(folder / "vae_decoder/config.json", {
        "latent_channels": CHANNELS, "block_out_channels": [8, 8, 8, 8], "scaling_factor": 0.5})
    mark = lambda i: {"SpecialToken": {"id": WORDS[i], "type_id": 0}}
    write(folder / "tokenizer/tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": WORDS[i], "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True} for i in range(4)],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [mark(1), {"Sequence": {"id": "A", "type_id": 0}}, mark(2)],
            "pair": [mark(1), {"Sequence": {"id": "A", "type_id": 0}}, mark(2)],
            "special_tokens": {WORDS[i]: {"id": WORDS[i], "ids": [i], "tokens": [WORDS[i]]} for i in (1, 2)}},
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(WORDS)}, "unk_token": "<unk>"}})
    write(folder / "tokenizer/tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": LENGTH,
        "pad_token": {"content": "<pad>"} if half else "<pad>", "bos_token": "<s>",
        "eos_token": "</s>", "unk_token": "<unk>"})


make(HERE / "tiny", half=False)
make(HERE / "half", half=True)
