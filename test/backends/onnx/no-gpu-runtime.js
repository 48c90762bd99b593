/** ONNX Runtime as it is on a machine without a GPU. */
import ort from "onnxruntime-node";

export const { Tensor, env } = ort;

export const InferenceSession = {
  async create(model, options) {
    const providers = options?.executionProviders ?? ["cpu"];
    if (providers.some((provider) => (provider.name ?? provider) !== "cpu")) {
      throw new Error(
        "/onnxruntime_src/onnxruntime/core/providers/webgpu/webgpu_context.cc:136 " +
          "onnxruntime::webgpu::WebGpuContext::Initialize(const onnxruntime::webgpu::WebGpuContextConfig&)" +
          "::<lambda()> adapter_result.status == wgpu::RequestAdapterStatus::Success was false. " +
          "Failed to get a WebGPU adapter: No supported adapters\n",
      );
    }
    return ort.InferenceSession.create(model, options);
  },
};
