/**
 * ONNX Runtime with faults to order: latents 11 wide make a run fail as it does
 * when memory is short, 13 wide as it does when a GPU's is (seen with 1.30, on an
 * H200 that was full), 14 wide as it tells what CUDA says (seen with 1.30, of a
 * driver without a card); latents 12 wide end the thread.
 */
import ort from "onnxruntime-node";

export const { Tensor, env } = ort;

export const InferenceSession = {
  async create(...args) {
    const session = await ort.InferenceSession.create(...args);
    const run = session.run.bind(session);
    session.run = async (feeds, ...rest) => {
      const width = feeds.sample?.dims.at(-1);
      if (width === 11) {
        throw new Error(
          "Non-zero status code returned while running Conv node. Name:'' Status Message: " +
            "/onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:360 void* onnxruntime::BFCArena::" +
            "AllocateRawInternal(size_t, bool, onnxruntime::Stream*) " +
            "Failed to allocate memory for requested buffer of size 150994944",
        );
      }
      if (width === 13) {
        throw new Error(
          "WebGPU validation failed. [Invalid Buffer (unlabeled)] is invalid due to a previous error.\n" +
            " - While validating entries[2] against { binding: 2, visibility: ShaderStage::Compute }.",
        );
      }
      if (width === 14) {
        const check =
          "std::conditional_t<THRW, void, onnxruntime::common::Status> onnxruntime::CudaCall(ERRTYPE, " +
          "const char*, const char*, SUCCTYPE, const char*, const char*, int) [with ERRTYPE = cudaError; " +
          "bool THRW = true; SUCCTYPE = cudaError; std::conditional_t<THRW, void, common::Status> = void] ";
        throw new Error(
          `/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc:129 ${check}` +
            `/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc:121 ${check}` +
            "CUDA failure 2: out of memory ; GPU=0 ; hostname=gpu-7 ; " +
            "file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_allocator.cc ; line=54 ; " +
            "expr=cudaMalloc((void**)&p, size); ",
        );
      }
      if (width === 12) process.exit(1);
      return run(feeds, ...rest);
    };
    return session;
  },
};
