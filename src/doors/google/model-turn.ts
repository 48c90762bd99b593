/** What a model said, in parts of the Gemini API. */
import type { JsonObject } from "../../core/json.js";
import type { Place } from "../json/places.js";
import { member } from "./member.js";
import { joined } from "./parts.js";
import { extraContentOf, SignedThoughts } from "./signature.js";

/** A part of a content, and where it stands. */
export interface Part {
  readonly part: JsonObject;
  readonly place: string;
}

/** Reads parts, and notes what is wrong with them. */
export interface PartReading {
  /** A member that has to be a text; empty where there is none. */
  text(part: JsonObject, name: string, place: string): string;
  /** A call of a function, as the contract has it in JSON. @param extraContent what its server gave with it */
  call(call: unknown, extraContent: JsonObject | undefined, place: string): object;
  /** A part of what is said, or nothing where it is none that can be served. */
  content(part: JsonObject, place: string): Part[];
}

/** Its message of the contract, in JSON, and where the parts of that stand. @param at where it begins */
export function modelTurn(
  parts: readonly Part[],
  at: string,
  reading: PartReading,
): [message: JsonObject, place: Place] {
  const texts: Part[] = [];
  const images: Part[] = [];
  const thoughts = new SignedThoughts();
  const calls: object[] = [];
  const places: string[] = [];
  for (const { part, place } of parts) {
    const call = member(part, "functionCall");
    const signature = reading.text(part, "thoughtSignature", place);
    const extra = signature === "" ? undefined : extraContentOf(signature);
    if (call !== undefined) {
      if (!extra) thoughts.signature(signature);
      calls.push(reading.call(call, extra, `${place}.functionCall`));
      places.push(`${place}.functionCall`);
      continue;
    }
    const said = part.thought === true ? [] : reading.content(part, place);
    const picture = said.find(({ part: { type } }) => type === "image_url");
    if (picture) {
      if (!extra) thoughts.signature(signature);
      images.push({ part: withExtra(picture.part, extra), place: picture.place });
      continue;
    }
    thoughts.signature(signature);
    if (part.thought === true) thoughts.text(reading.text(part, "text", place));
    else texts.push(...said);
  }
  return [
    {
      role: "assistant",
      content: joined(texts.map(({ part }) => part)),
      ...(images.length > 0 && { images: images.map(({ part }) => part) }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...thoughts.fields,
    },
    {
      ...{ at, content: `${at}.parts`, calls: places },
      parts: texts.map(({ place }) => place),
      images: images.map(({ place }) => place),
    },
  ];
}

/** A picture with what its server gave with it. */
const withExtra = (picture: JsonObject, extra: JsonObject | undefined): JsonObject =>
  extra ? { ...picture, extra_content: extra } : picture;
