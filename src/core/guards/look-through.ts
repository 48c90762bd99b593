/** Guards one behind the other, at all texts of a request or an answer. */
import type { Call } from "../call.js";
import { ask, blocked } from "./ask.js";
import type { Guard, GuardedSide, GuardedText } from "./guard.js";
import type { MapText, TextPlace } from "./texts.js";

/**
 * What guards leave: each sees what those before it left, in its place in what came, whose text
 * parts may be joined in what goes on.
 * @param mapTexts what has the texts, with others in their place
 * @param before called ahead of each guard
 * @returns what goes on, also where nothing is replaced with the texts as they were looked at
 * @throws LintelError as `ask`; `content_blocked` where something would take a place that is fixed
 */
export async function lookThrough<T>(
  guards: readonly Guard[],
  call: Call,
  side: GuardedSide,
  mapTexts: (map: MapText) => T,
  before?: (guard: Guard) => void,
): Promise<{ readonly left: T; readonly replaced: boolean }> {
  const said: { readonly place: TextPlace; text: string }[] = [];
  mapTexts((text, place) => {
    said.push({ place, text });
    return text;
  });
  let replaced = false;
  for (const guard of guards) {
    before?.(guard);
    const left = said.filter(({ text }) => text !== "");
    if (left.length === 0) break;
    const texts = left.map(({ place, text }): GuardedText => ({ ...place, text }));
    const verdict = await ask(guard, call, side, texts);
    if (verdict.action !== "replace") continue;
    replaced = true;
    for (const [i, one] of left.entries()) {
      const { field, fixed } = one.place;
      const by = verdict.texts[i] ?? one.text;
      if (fixed && by !== one.text) throw blocked(guard, call, side, field, verdict.found);
      one.text = by;
    }
  }
  let next = 0;
  return { left: mapTexts((text) => said[next++]?.text ?? text), replaced };
}
