/** One ONNX file, ready to run. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { InferenceSession, Tensor } from "onnxruntime-node";
import { fromHalf, toHalf } from "./float16.js";
import { whyUnreadable } from "./folder.js";
import { ModelProblem, wordsOf } from "./problem.js";
import type { Runtime } from "./runtime.js";

/** What a graph must have, by name. */
export interface Signature {
  readonly inputs: readonly string[];
  readonly output: string;
}

/** What a graph says of an input: element type, and sizes or their names. */
export interface InputShape {
  readonly type: Tensor.Type;
  readonly shape: readonly (number | string)[];
}

/** Inputs by name: numbers, converted to the type that the graph wants, and dimensions. */
export type Feeds = Readonly<
  Record<string, readonly [data: Float32Array | readonly number[], dims: readonly number[]]>
>;

export class Graph {
  readonly #runtime: Runtime;
  readonly #session: InferenceSession;
  readonly #file: string;
  readonly #output: string;

  private constructor(runtime: Runtime, session: InferenceSession, file: string, output: string) {
    this.#runtime = runtime;
    this.#session = session;
    this.#file = file;
    this.#output = output;
  }

  /**
   * Loads a file.
   * @param threads that one run uses
   * @throws ModelProblem if the file is missing, broken, or does not have these inputs and this output
   */
  static async load(
    runtime: Runtime,
    folder: string,
    file: string,
    signature: Signature,
    threads: number,
  ): Promise<Graph> {
    const path = join(folder, file);
    const { size } = await stat(path).catch((error) => {
      throw new ModelProblem(`${file}: ${whyUnreadable(error)}`, { cause: error });
    });
    if (size === 0) throw new ModelProblem(`${file}: is empty`);
    const session = await runtime.InferenceSession.create(path, {
      executionProviders: ["cpu"],
      intraOpNumThreads: threads,
      logSeverityLevel: 3,
      // The arena keeps its largest size for ever: 0.6 GB after one picture of 2048 x 2048.
      enableCpuMemArena: false,
    }).catch((error: unknown) => {
      throw new ModelProblem(`${file}: can't be loaded: ${wordsOf(error)}`, { cause: error });
    });
    const graph = new Graph(runtime, session, file, signature.output);
    try {
      graph.#check(signature);
    } catch (error) {
      await session.release();
      throw error;
    }
    return graph;
  }

  #check({ inputs, output }: Signature): void {
    const { inputNames, outputNames } = this.#session;
    const missing = inputs.find((name) => !inputNames.includes(name));
    if (missing) {
      throw new ModelProblem(
        `${this.#file}: has no input ${missing}, but ${inputNames.join(", ")}`,
      );
    }
    const foreign = inputNames.find((name) => !inputs.includes(name));
    if (foreign)
      throw new ModelProblem(`${this.#file}: wants the input ${foreign}, which is not supported`);
    if (!outputNames.includes(output)) {
      throw new ModelProblem(
        `${this.#file}: has no output ${output}, but ${outputNames.join(", ")}`,
      );
    }
  }

  /** What the graph says of an input that `load` was told of. */
  input(name: string): InputShape {
    const found = this.#session.inputMetadata.find((input) => input.name === name);
    if (!found?.isTensor) throw new ModelProblem(`${this.#file}: input ${name} is no tensor`);
    return found;
  }

  /**
   * Runs the graph; blocks the thread meanwhile.
   * @throws ModelProblem if it fails
   */
  async run(feeds: Feeds): Promise<{ data: Float32Array; dims: readonly number[] }> {
    try {
      const tensors = Object.entries(feeds).map(([name, [data, dims]]) => [
        name,
        this.#tensor(this.input(name).type, data, dims),
      ]);
      const result = await this.#session.run(Object.fromEntries(tensors), [this.#output]);
      const tensor = result[this.#output] as Tensor;
      return { data: floatsOf(tensor), dims: tensor.dims };
    } catch (error) {
      if (error instanceof ModelProblem) throw error;
      const why = /alloc|memory/i.test(String(error)) ? "ran out of memory" : "failed";
      throw new ModelProblem(`${this.#file}: ${why}: ${wordsOf(error)}`, { cause: error });
    }
  }

  /** Frees it; not while it runs. */
  release(): Promise<void> {
    return this.#session.release();
  }

  #tensor(type: Tensor.Type, data: Float32Array | readonly number[], dims: readonly number[]) {
    const { Tensor } = this.#runtime;
    const floats = () => (data instanceof Float32Array ? data : Float32Array.from(data));
    switch (type) {
      case "float32":
        return new Tensor("float32", floats(), dims); // Shares the memory.
      case "float16":
        return new Tensor("float16", toHalf(floats()), dims);
      case "float64":
        return new Tensor("float64", Float64Array.from(data), dims);
      case "int32":
        return new Tensor("int32", Int32Array.from(data), dims);
      case "int64":
        return new Tensor(
          "int64",
          BigInt64Array.from(data, (value) => BigInt(value)),
          dims,
        );
      default:
        throw new ModelProblem(`${this.#file}: inputs of type ${type} are not supported`);
    }
  }
}

function floatsOf(tensor: Tensor): Float32Array {
  const { data, type } = tensor;
  if (data instanceof Float32Array) return data;
  if (data instanceof Float64Array) return Float32Array.from(data);
  if (type === "float16" && ArrayBuffer.isView(data)) {
    // Newer versions of Node have an array for halves, and then the runtime uses it.
    return fromHalf(new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2));
  }
  throw new ModelProblem(`outputs of type ${type} are not supported`);
}
