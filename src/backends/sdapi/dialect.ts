/** In what the servers of `/sdapi/v1` differ. */
import { isObject, type JsonObject } from "../../core/json.js";

export const dialectNames = ["a1111", "forge", "sdnext", "sdcpp"] as const;
export type DialectName = (typeof dialectNames)[number];

/** What a server does, besides what all do. */
export interface Dialect {
  /** As people call it. */
  readonly product: string;
  /** It has `/progress` and `/interrupt`. */
  readonly progress: boolean;
  /** It takes `force_task_id`, and may tell about tasks by it. */
  readonly tasks: boolean;
  /** LoRAs are tags in the prompt; else a field. */
  readonly loraTags: boolean;
  /** It draws less of the prompt by a guidance below 1; else that is none, as the contract has it. */
  readonly mixes: boolean;
}

const webui = { progress: true, tasks: true, loraTags: true, mixes: true };

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  a1111: { product: "AUTOMATIC1111", ...webui },
  forge: { product: "Forge", ...webui },
  sdnext: { product: "SD.Next", ...webui, tasks: false, mixes: false },
  sdcpp: {
    ...{ product: "stable-diffusion.cpp", progress: false, tasks: false, loraTags: false },
    mixes: true,
  },
};

/** What stable-diffusion.cpp says for the hash of its one model. */
const noHash = "8888888888";

/** Which server lists its checkpoints like this. Forge is not told from AUTOMATIC1111. */
export function dialectOf(entries: readonly unknown[]): DialectName {
  const objects = entries.filter((entry): entry is JsonObject => isObject(entry));
  if (objects.some(({ hash }) => hash === noHash)) return "sdcpp";
  if (objects.some(({ type }) => typeof type === "string")) return "sdnext";
  return "a1111";
}
