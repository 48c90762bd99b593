/** One ONNX file, ready to run. */
import type { InferenceSession, Tensor } from "onnxruntime-node";
import type { Device } from "./device.js";
import type { OnnxFile } from "./file/onnx.js";
import type { Rewritten } from "./file/rewrite.js";
import { fromHalf, toHalf } from "./float16.js";
import { ModelProblem, RuntimeProblem, wordsOf } from "./problem.js";
import type { Runtime } from "./runtime.js";

/** What graphs are run with. */
export interface Execution {
  readonly runtime: Runtime;
  readonly device: Device;
  /** Threads that one run uses. */
  readonly threads: number;
}

/** What a graph must and may have, by name. */
export interface Signature {
  readonly inputs: readonly string[];
  /** Inputs that some exports have. */
  readonly optional?: readonly string[];
  readonly outputs: readonly string[];
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

/** What a run gives. */
export interface Result {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

/** A loaded graph, as those that only run it see it. */
export type Runnable = Pick<Graph, "run" | "input" | "has">;

/** A loaded graph. */
export class Graph {
  /** What stands in the file. */
  readonly file: OnnxFile;
  readonly #runtime: Runtime;
  readonly #device: Device;
  readonly #session: InferenceSession;

  private constructor(execution: Execution, session: InferenceSession, file: OnnxFile) {
    this.#runtime = execution.runtime;
    this.#device = execution.device;
    this.#session = session;
    this.file = file;
  }

  /**
   * Makes a graph of a file, or of other bytes in its place.
   * @param source the file's path, or bytes that refer to the same files for further weights
   * @throws ModelProblem that names the file
   */
  static async open(
    execution: Execution,
    file: OnnxFile,
    source: string | Rewritten,
    signature: Signature,
  ): Promise<Graph> {
    const { runtime, device, threads } = execution;
    const options: InferenceSession.SessionOptions = {
      executionProviders: device.providersFor(file),
      intraOpNumThreads: threads,
      logSeverityLevel: 3,
      // The arena keeps its largest size for ever: 0.6 GB after one picture of 2048 x 2048.
      enableCpuMemArena: false,
    };
    const { InferenceSession } = runtime;
    const opening = device.alone(() =>
      typeof source === "string"
        ? InferenceSession.create(source, options)
        : InferenceSession.create(source.model, {
            ...options,
            ...(source.files
              ? { externalData: source.files }
              : { extra: { session: { [folderOption]: source.folder } } }),
          }),
    );
    const session = await opening.catch((error: unknown) => {
      throw isMemory(error)
        ? problem(ModelProblem, file, "there is too little memory for it", error)
        : problem(RuntimeProblem, file, "can't be loaded", error);
    });
    const graph = new Graph(execution, session, file);
    try {
      graph.#check(signature);
    } catch (error) {
      await graph.release();
      throw error;
    }
    return graph;
  }

  #check({ inputs, optional = [], outputs }: Signature): void {
    const { inputNames, outputNames } = this.#session;
    const { name } = this.file;
    const missing = inputs.find((input) => !inputNames.includes(input));
    if (missing) {
      throw new ModelProblem(`${name}: has no input ${missing}, but ${inputNames.join(", ")}`);
    }
    const foreign = inputNames.find((n) => !inputs.includes(n) && !optional.includes(n));
    if (foreign)
      throw new ModelProblem(`${name}: wants the input ${foreign}, which is not supported`);
    const lacking = outputs.find((output) => !outputNames.includes(output));
    if (lacking) {
      throw new ModelProblem(`${name}: has no output ${lacking}, but ${outputNames.join(", ")}`);
    }
  }

  /** Whether there is an input of this name. */
  has(input: string): boolean {
    return this.#session.inputNames.includes(input);
  }

  /** Names of everything that it gives. */
  get outputs(): readonly string[] {
    return this.#session.outputNames;
  }

  /** What the graph says of an input that it has. */
  input(name: string): InputShape {
    const found = this.#session.inputMetadata.find((input) => input.name === name);
    if (!found?.isTensor) throw new ModelProblem(`${this.file.name}: input ${name} is no tensor`);
    return found;
  }

  /**
   * Runs the graph; blocks the thread meanwhile.
   * @param output which of its outputs is wanted
   * @throws ModelProblem if it fails
   */
  async run(feeds: Feeds, output: string): Promise<Result> {
    const [result] = await this.runAll(feeds, [output]);
    return result as Result;
  }

  /** As `run`, with several outputs, in their order. */
  async runAll(feeds: Feeds, outputs: readonly string[]): Promise<Result[]> {
    try {
      const tensors = Object.entries(feeds).map(([name, [data, dims]]) => [
        name,
        this.#tensor(this.input(name).type, data, dims),
      ]);
      const results = await this.#device.alone(() =>
        this.#session.run(Object.fromEntries(tensors), [...outputs]),
      );
      return outputs.map((name) => {
        const tensor = results[name] as Tensor;
        return { data: floatsOf(tensor), dims: tensor.dims };
      });
    } catch (error) {
      if (error instanceof ModelProblem) throw error;
      throw isMemory(error)
        ? problem(ModelProblem, this.file, "ran out of memory", error)
        : problem(RuntimeProblem, this.file, "failed", error);
    }
  }

  /** Frees it; not while it runs. */
  release(): Promise<void> {
    return this.#device.alone(() => this.#session.release());
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
        return new Tensor("int32", Int32Array.from(data, Math.round), dims);
      case "int64":
        return new Tensor(
          "int64",
          BigInt64Array.from(data, (value) => BigInt(Math.round(value))),
          dims,
        );
      default:
        throw new ModelProblem(`${this.file.name}: inputs of type ${type} are not supported`);
    }
  }
}

/** ONNX Runtime's option for where files lie that a model in memory refers to. */
const folderOption = "model_external_initializers_file_folder_path";

/** Of a file, with what ONNX Runtime said. */
const problem = (Kind: typeof ModelProblem, { name }: OnnxFile, what: string, cause: unknown) =>
  new Kind(`${name}: ${what}: ${wordsOf(cause)}`, { cause });

/** WebGPU tells of the allocation that failed in the log alone; what gets here is the first use of what is not there. */
const isMemory = (error: unknown) =>
  /\balloc|bad_alloc|out of memory|\[Invalid Buffer\b/i.test(String(error));

function floatsOf(tensor: Tensor): Float32Array {
  const { data, type } = tensor;
  if (data instanceof Float32Array) return data;
  if (type === "float16" && ArrayBuffer.isView(data)) {
    // Newer versions of Node have an array for halves, and then the runtime uses it.
    return fromHalf(new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2));
  }
  if (data instanceof Float64Array || data instanceof Uint8Array) return Float32Array.from(data);
  throw new ModelProblem(`outputs of type ${type} are not supported`);
}
