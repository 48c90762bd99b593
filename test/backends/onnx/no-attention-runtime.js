/**
 * ONNX Runtime on a device where its own operator for attention fails: when a model is loaded,
 * or, imported with `?later`, when it runs.
 */
import ort from "onnxruntime-node";

export const { Tensor, env } = ort;

const fused = Buffer.from("MultiHeadAttention");

/** @param model its path, or its bytes */
const isFused = (model) => typeof model !== "string" && Buffer.from(model).includes(fused);

export const InferenceSession = {
  async create(model, options) {
    if (isFused(model) && !import.meta.url.endsWith("?later")) {
      throw new Error("Could not find an implementation for MultiHeadAttention(1)");
    }
    const session = await ort.InferenceSession.create(model, options);
    if (isFused(model)) {
      session.run = async () => {
        throw new Error("Non-zero status code returned while running MultiHeadAttention node.");
      };
    }
    return session;
  },
};
