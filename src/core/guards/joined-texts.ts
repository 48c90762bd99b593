/** Text parts that follow each other in a message: one text for guards and for models, whatever marks stand within. */
import type { CacheControl, ContentPart } from "../../../gen/lintel/v1/chat_pb.js";

/** A mark for the model server's cache of prompts, and behind how many characters it stands. */
interface Mark {
  readonly mark: CacheControl;
  readonly at: number;
}

/** A part, or several of text as one. */
export interface Joined {
  readonly part: ContentPart;
  /** Place of the first of them. */
  readonly i: number;
  /** Marks of those of text, in their order. */
  readonly marks: readonly Mark[];
}

/** Parts, of which texts that follow each other are one. */
export function joinedTexts(parts: readonly ContentPart[]): readonly Joined[] {
  const joined: (Joined & { part: ContentPart; readonly marks: Mark[] })[] = [];
  for (const [i, part] of parts.entries()) {
    const { type, text = "", cacheControl: mark } = part;
    let one = joined.at(-1);
    if (type === "text" && one?.part.type === "text") {
      one.part = { ...one.part, text: (one.part.text ?? "") + text };
    } else {
      one = { part, i, marks: [] };
      joined.push(one);
    }
    if (mark && type === "text") one.marks.push({ mark, at: one.part.text?.length ?? 0 });
  }
  return joined;
}

/**
 * The parts of a text that may be another by now, one for each mark within. A mark stays where what is
 * ahead of it, or what is behind it, is as it was; else nobody knows its place, and it is gone.
 */
export function partsOf({ part, marks }: Joined, text: string): ContentPart[] {
  if (marks.length === 0) return [{ ...part, text }];
  const place = placesIn(part.text ?? "", text);
  const parts: ContentPart[] = [];
  let begin = 0;
  for (const { mark, at } of marks) {
    const end = place(at);
    if (end === undefined || end <= begin) continue;
    parts.push({ ...part, text: text.slice(begin, end), cacheControl: mark });
    begin = end;
  }
  if (begin < text.length || parts.length === 0) {
    parts.push({ ...part, text: text.slice(begin), cacheControl: undefined });
  }
  return parts;
}

/** Tells where places of a text are in another one, which begins and ends as it does: `undefined` for those between. */
function placesIn(text: string, other: string): (at: number) => number | undefined {
  if (text === other) return (at) => at;
  const most = Math.min(text.length, other.length);
  let ahead = 0;
  while (ahead < most && text[ahead] === other[ahead]) ahead++;
  let behind = 0;
  while (behind < most && text.at(-1 - behind) === other.at(-1 - behind)) behind++;
  return (at) => {
    if (at <= ahead) return at;
    return text.length - at <= behind ? at + other.length - text.length : undefined;
  };
}
