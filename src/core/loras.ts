/** The `loras` field: a JSON object in a string, from LoRA id to weight; and tags in prompts beside it. */
import { invalidValue, type LintelError } from "./errors.js";
import { isObject } from "./json.js";
import { passedOver } from "./json-keys.js";

/**
 * Reads the field.
 * @param most the most LoRAs that are allowed
 * @returns weights by LoRA id, in the order given; empty for an empty string
 * @throws LintelError `invalid_value` that names `loras`
 */
export function parseLoras(text: string, most = 4): ReadonlyMap<string, number> {
  if (text.trim() === "") return new Map();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw wrong(most);
  }
  if (!isObject(json)) throw wrong(most);
  const loras = new Map<string, number>();
  for (const [id, weight] of Object.entries(json)) {
    if (id === "" || typeof weight !== "number" || !Number.isFinite(weight) || weight < 0) {
      throw wrong(most);
    }
    loras.set(id, weight);
  }
  if (loras.size > most) throw wrong(most);
  if (passedOver(text, json).twice) throw invalidValue("loras", "must have each LoRA once");
  return loras;
}

const wrong = (most: number): LintelError =>
  invalidValue(
    "loras",
    `must be a JSON object from LoRA id to weight, at most ${most}, weights 0 or more, for example {"style": 0.8}`,
  );

/** What begins a tag by which many model servers load a LoRA, or one of its kin, out of a prompt. */
const tag = /<(?=(?:lora|lyco|hypernet):)/gi;

/** A prompt in which no server finds such a tag. */
export const withoutLoraTags = (prompt: string): string => prompt.replace(tag, "< ");
