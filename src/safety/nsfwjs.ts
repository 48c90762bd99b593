/** The package nsfwjs, where the operator installed it. */
import { importInstalled, isInstalled, isMissing } from "../installed.js";
import type { Classify, ThreadSettings } from "./protocol.js";

/** The little of nsfwjs and TensorFlow.js that is used here. */
interface Nsfwjs {
  load(model?: string): Promise<{
    classify(image: unknown): Promise<readonly { className: string; probability: number }[]>;
  }>;
}
interface Tensors {
  tensor3d(
    values: Int32Array,
    shape: readonly [number, number, number],
    type: "int32",
  ): { dispose(): void };
}

/**
 * Loads it.
 * @throws Error that says what to install, or why it can't be loaded
 */
export async function loadNsfwjs({
  model: name,
  folder,
}: Extract<ThreadSettings, { kind: "nsfwjs" }>): Promise<Classify> {
  const nsfwjs = (await required("nsfwjs", folder)) as unknown as Nsfwjs;
  const tf = (await required("@tensorflow/tfjs", folder)) as unknown as Tensors;
  const model = await nsfwjs.load(name);
  return async ({ rgb, width, height }) => {
    const tensor = tf.tensor3d(Int32Array.from(rgb), [height, width, 3], "int32");
    try {
      const found = await model.classify(tensor);
      return new Map(found.map(({ className, probability }) => [className, probability]));
    } finally {
      tensor.dispose();
    }
  };
}

const packages = ["nsfwjs", "@tensorflow/tfjs"];

/** What to say where one of its packages is missing. */
const notInstalled = `safety.checker nsfwjs needs packages that are not installed: npm install ${packages.join(" ")}`;

/** Says what to install; `undefined` if it is there. Loads nothing. */
export const lackOfNsfwjs = (): string | undefined =>
  packages.every((name) => isInstalled(name)) ? undefined : notInstalled;

async function required(name: string, folder: string | undefined) {
  try {
    return await importInstalled(name, folder);
  } catch (cause) {
    throw new Error(
      isMissing(name, cause)
        ? notInstalled
        : `the package ${name} can't be loaded: ${(cause as Error).message}`,
      { cause },
    );
  }
}
