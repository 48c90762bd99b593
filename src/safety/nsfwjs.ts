/** The package nsfwjs, where the operator installed it. */
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
 * @throws Error that says what to install
 */
export async function loadNsfwjs(
  settings: Extract<ThreadSettings, { kind: "nsfwjs" }>,
): Promise<Classify> {
  // Not literals: they are not among Lintel's own dependencies.
  const names = [settings.package ?? "nsfwjs", "@tensorflow/tfjs"];
  const [nsfwjs, tf] = (await Promise.all(names.map(required))) as [Nsfwjs, Tensors];
  const model = await nsfwjs.load(settings.model);
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

async function required(name: string): Promise<unknown> {
  try {
    return await import(name);
  } catch (cause) {
    throw new Error(
      `safety.checker nsfwjs needs packages that are not installed: npm install nsfwjs @tensorflow/tfjs`,
      { cause },
    );
  }
}
