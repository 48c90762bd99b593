/** Where a model's graphs run: on the CPU, or on a GPU by one of ONNX Runtime's execution providers. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { InferenceSession } from "onnxruntime-node";
import type { Gpu } from "../gpu.js";
import type { OnnxFile } from "./file/onnx.js";
import { productModel } from "./lora/adder.js";
import { ModelProblem, wordsOf } from "./problem.js";
import type { Runtime } from "./runtime.js";
import { Turn } from "./turns.js";

/** ONNX Runtime's names. WebGPU reaches the GPU by what the system has: Vulkan, Metal or Direct3D. */
export type Provider = "cpu" | "cuda" | "webgpu";

/** The providers to try, the best first. */
const wanted = {
  auto: ["cuda", "webgpu"],
  cuda: ["cuda"],
  vulkan: ["webgpu"],
  metal: ["webgpu"],
} as const satisfies Record<Exclude<Gpu, false>, readonly Provider[]>;

/** What the graphs of a model run on. */
export class Device {
  readonly provider: Provider;
  /** Why no GPU is used where one was wanted. */
  readonly refusal: string | undefined;
  readonly #turn: Turn | undefined;

  private constructor(provider: Provider, turn?: Turn, refusal?: string) {
    this.provider = provider;
    this.refusal = refusal;
    this.#turn = turn;
  }

  /**
   * Finds out what can be used, with a graph of three inputs.
   * @param turns of the process; see turns.ts
   * @throws ModelProblem if a GPU was asked for by name and can't be used
   */
  static async open(runtime: Runtime, gpu: Gpu, turns: SharedArrayBuffer): Promise<Device> {
    if (gpu === false) return new Device("cpu");
    const refusals: string[] = [];
    for (const provider of wanted[gpu]) {
      // Looking for it in vain makes noise in the log.
      if (provider === "cuda" && !hasCuda()) {
        refusals.push(
          "cuda: onnxruntime-node has no CUDA provider here; docs/node.md says how it gets one",
        );
        continue;
      }
      const device = new Device(provider, provider === "webgpu" ? new Turn(turns) : undefined);
      try {
        await device.#probe(runtime);
        return device;
      } catch (error) {
        refusals.push(`${provider}: ${wordsOf(error)}`);
      }
    }
    const refusal = refusals.join("; ");
    if (gpu === "auto") return new Device("cpu", undefined, refusal);
    throw new ModelProblem(`gpu: ${gpu} can't be used: ${refusal}`);
  }

  async #probe({ InferenceSession }: Runtime): Promise<void> {
    const options = { executionProviders: [this.provider], logSeverityLevel: 4 } as const;
    const session = await this.alone(() => InferenceSession.create(productModel(1), options));
    await this.alone(() => session.release());
  }

  /** Whether it is none of the CPU's. */
  get isGpu(): boolean {
    return this.provider !== "cpu";
  }

  /** The providers for a graph. */
  providersFor(file: OnnxFile): InferenceSession.ExecutionProviderConfig[] {
    if (this.provider !== "webgpu") return [this.provider];
    return [{ name: "webgpu", preferredLayout: misreadsChannelsLast(file) ? "NCHW" : "NHWC" }];
  }

  /** Does something with a session, alone where sessions can't be used side by side. */
  alone<T>(use: () => Promise<T>): Promise<T> {
    return this.#turn ? this.#turn.take(use) : use();
  }
}

/**
 * Whether channels last, which is the faster layout in half precision, gives wrong numbers:
 * with ONNX Runtime 1.30 convolutions of 6, 9, 15, … channels do, and weights that the graph
 * computes tell nothing of theirs. https://github.com/microsoft/onnxruntime/issues/29651
 */
function misreadsChannelsLast({ nodes, initializers }: OnnxFile): boolean {
  const weights = new Map(initializers.map(({ name, dims }) => [name, dims]));
  return nodes.some(({ op, inputs }) => {
    if (op !== "Conv") return false;
    const channels = weights.get(inputs[1] ?? "")?.[1];
    return channels === undefined || (channels > 3 && channels % 3 === 0 && channels % 4 !== 0);
  });
}

/** Whether the package's CUDA provider has been fetched, which npm does not bring. */
function hasCuda(): boolean {
  try {
    const main = createRequire(import.meta.url).resolve("onnxruntime-node");
    const folder = join(dirname(main), "../bin/napi-v6", process.platform, process.arch);
    return existsSync(join(folder, "libonnxruntime_providers_cuda.so"));
  } catch {
    return false;
  }
}
