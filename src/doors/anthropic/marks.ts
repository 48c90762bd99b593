/** Marks for the model server's cache of prompts, which the Messages API has at blocks. */
import type { JsonObject } from "../../core/json.js";
import { fields } from "../json/known.js";
import type { Place } from "../json/places.js";
import type { Part } from "./parts.js";

/** What is read of a mark. */
export const markFields = fields({ type: true, ttl: true });

/** A block's mark, as a member; none where it has none. */
export const markIn = ({ cache_control: mark }: JsonObject): { cache_control?: unknown } =>
  mark == null ? {} : { cache_control: mark };

/** What stands between two texts that are told as one. */
const between = "\n\n";

/**
 * Texts of a message: one text, or one up to each mark where there are any, which together are that text.
 * @param parts all of them of the type `text`, each with its mark
 */
export function joined(parts: readonly Part[]): { content: unknown; parts: readonly string[] } {
  const pieces: Part[] = [];
  const told = withoutEmpty(parts);
  for (const { part, place } of told) {
    const last = pieces.at(-1);
    const text = last ? `${between}${part.text}` : part.text;
    if (!last || last.part.cache_control !== undefined)
      pieces.push({ part: { ...part, text }, place });
    else pieces[pieces.length - 1] = { part: { ...part, text: `${last.part.text}${text}` }, place };
  }
  const isMarked = pieces.some(({ part }) => part.cache_control !== undefined);
  return {
    content: isMarked ? pieces.map(({ part }) => part) : (pieces[0]?.part.text ?? ""),
    parts: (isMarked ? pieces : told).map(({ place }) => place),
  };
}

/** Texts but for empty ones, unless there is no other: a mark at one is at the end of what is ahead of it. */
function withoutEmpty(parts: readonly Part[]): readonly Part[] {
  const told: Part[] = [];
  for (const one of parts) {
    const { text, cache_control } = one.part;
    const last = told.at(-1);
    if (last?.part.text === "") told[told.length - 1] = one;
    else if (!last || text !== "") told.push(one);
    else if (cache_control !== undefined)
      told[told.length - 1] = { part: { ...last.part, cache_control }, place: last.place };
  }
  return told;
}

/** The mark at a message's end: the last that a block has, and where it stands. */
export function lastMark(
  blocks: readonly { block: JsonObject; place: string }[],
): { mark: { cache_control: unknown }; at: Pick<Place, "mark"> } | undefined {
  const last = blocks.findLast(({ block }) => block.cache_control != null);
  return (
    last && {
      mark: { cache_control: last.block.cache_control },
      at: { mark: `${last.place}.cache_control` },
    }
  );
}
