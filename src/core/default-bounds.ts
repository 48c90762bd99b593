/** Which values an operator's defaults may have. */
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import type { Range } from "./range.js";
import { compileRange, moved, rangeOf } from "./rules.js";
import type { Bound } from "./settings.js";

const fields = new Map(
  [...LLMRequestSchema.fields, ...TextToImageRequestSchema.fields].map((it) => [it.name, it]),
);

/**
 * Says what is wrong with a default; `undefined` if nothing is. One that the
 * contract allows and the operator's bound does not is moved into that later.
 * @param name the field's, in the contract
 * @param bound the operator's of the same field
 */
export function wrongDefault(name: string, value: number, bound: Bound = {}): string | undefined {
  const field = fields.get(name);
  const range = field && rangeOf(field);
  return range && compileRange(moved(range, widening(bound, range)))(value);
}

/** What a bound allows beyond the contract. */
const widening = ({ min = Infinity, max = -Infinity }: Bound, range: Range): Bound => ({
  min: range.min !== undefined && min <= range.min ? min : undefined,
  max: range.max !== undefined && max >= range.max ? max : undefined,
});
