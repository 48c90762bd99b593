"""Makes the tiny classifier of the tests: certain of "nsfw" where a picture is redder than it is blue.
`half.onnx` is the same with logits in half precision, `single.onnx` with the one of "nsfw" alone.

    pip install onnx && python make.py
"""
import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

here = Path(__file__).parent
# Mean of each plane, then logits: 8 * (red - blue) for "nsfw", its negative for "normal".
weights = np.array([[-8, 8], [0, 0], [8, -8]], np.float32)
graph = helper.make_graph(
    [
        helper.make_node("GlobalAveragePool", ["pixel_values"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["means"]),
        helper.make_node("MatMul", ["means", "weights"], ["logits"]),
    ],
    "classifier",
    [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, 32, 32])],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 2])],
    [numpy_helper.from_array(weights, "weights")],
)
(here / "onnx").mkdir(exist_ok=True)
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), here / "onnx/model.onnx")
graph.initializer[0].CopyFrom(numpy_helper.from_array(weights[:, 1:], "weights"))
graph.output[0].type.tensor_type.shape.dim[1].dim_value = 1
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), here / "onnx/single.onnx")
graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "weights"))
graph.node[-1].output[0] = "single"
graph.node.append(helper.make_node("Cast", ["single"], ["logits"], to=TensorProto.FLOAT16))
graph.output[0].CopyFrom(helper.make_tensor_value_info("logits", TensorProto.FLOAT16, ["batch", 2]))
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), here / "onnx/half.onnx")
(here / "config.json").write_text(json.dumps({"id2label": {"0": "normal", "1": "nsfw"}}) + "\n")
(here / "preprocessor_config.json").write_text(json.dumps({
    "do_resize": True, "size": {"height": 32, "width": 32}, "resample": 2, "do_rescale": True,
    "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
}) + "\n")
