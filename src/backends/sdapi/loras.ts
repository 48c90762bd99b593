/** Which of a server's LoRAs a request means, and how they are asked for. */
import { invalidValue } from "../../core/errors.js";
import { parseLoras } from "../../core/loras.js";
import type { Dialect } from "./dialect.js";
import type { Lora } from "./inventory.js";

/** A LoRA with its weight. */
export interface WeightedLora extends Lora {
  readonly weight: number;
}

/** What a tag in a prompt can't hold. */
const untaggable = /[<>:]/;

/** Names of LoRAs that callers can ask for. */
export function loraNames(loras: readonly Lora[], { loraTags }: Dialect): string[] {
  const names = loras.map(({ name }) => name).filter((name) => !loraTags || !untaggable.test(name));
  return [...new Set(names)].sort();
}

/**
 * The LoRAs that a request asks for.
 * @param text the request's field
 * @param known asks the server which it has; called only if any is asked for
 * @throws LintelError `invalid_value` that names `loras` for one that the server does not have
 */
export async function lorasFor(
  text: string,
  dialect: Dialect,
  known: () => Promise<readonly Lora[]>,
): Promise<readonly WeightedLora[]> {
  const asked = parseLoras(text, Number.POSITIVE_INFINITY);
  if (asked.size === 0) return [];
  const loras = await known();
  return [...asked].map(([id, weight]) => {
    const lora =
      loras.find(({ name }) => name === id) ??
      loras.find(({ alias, path }) => alias === id || path === id);
    if (!lora || (dialect.loraTags && untaggable.test(lora.name))) {
      throw invalidValue("loras", `the model server has no LoRA "${id.slice(0, 100)}"`);
    }
    return { ...lora, weight };
  });
}

/** LoRAs as tags at the end of a prompt. */
export const loraTags = (loras: readonly WeightedLora[]): string =>
  loras.map(({ name, weight }) => `<lora:${name}:${weight}>`).join("");
