/** Values of metrics. */
import { samples } from "./support.js";

/** Values of a metric whose labels contain all of these. */
export const of = (text: string, name: string, ...labels: string[]): number[] =>
  [...samples(text)]
    .filter(([key]) => key.replace(/\{.*/, "") === name && labels.every((it) => key.includes(it)))
    .map(([, value]) => value);
