/** Guards one behind the other, at all texts and images of a request or an answer. */
import type { Call } from "../call.js";
import { ask, blocked } from "./ask.js";
import type { Guard, GuardedImage, GuardedSide, GuardedText } from "./guard.js";
import type { Hears, Said } from "./roles.js";
import type { MapText, TextPlace } from "./texts.js";

/** What else there is to look through. */
export interface LookOptions {
  /** Called ahead of each guard. */
  readonly before?: (guard: Guard) => void;
  /** What each guard looks at. Default: all guards at everything */
  readonly hears?: Hears;
  /** For guards that look at images. Default: none */
  readonly images?: readonly GuardedImage[];
}

/**
 * What guards leave: each sees what those before it left, in its place in what came, whose text
 * parts may be joined in what goes on.
 * @param mapTexts what has the texts, with others in their place
 * @returns what goes on, also where nothing is replaced with the texts as they were looked at
 * @throws LintelError as `ask`; `content_blocked` where something would take a place that is fixed
 */
export async function lookThrough<T>(
  guards: readonly Guard[],
  call: Call,
  side: GuardedSide,
  mapTexts: (map: MapText) => T,
  { before, hears, images = [] }: LookOptions = {},
): Promise<{ readonly left: T; readonly replaced: boolean }> {
  const said: { readonly place: TextPlace; text: string }[] = [];
  mapTexts((text, place) => {
    said.push({ place, text });
    return text;
  });
  let replaced = false;
  for (const guard of guards) {
    before?.(guard);
    const isHeard = (said: Said) => !hears || hears(guard, said);
    const left = said.filter(({ text, place }) => text !== "" && isHeard(place));
    const shown = guard.images ? images.filter(isHeard) : [];
    if (left.length + shown.length === 0) continue;
    const texts = left.map(({ place, text }): GuardedText => ({ ...place, text }));
    const verdict = await ask(guard, call, side, texts, shown);
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
