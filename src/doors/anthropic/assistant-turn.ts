/** What an assistant said, in blocks of the Messages API. */
import { isObject, type JsonObject } from "../../core/json.js";
import type { Place } from "../json/places.js";
import { lastMark } from "./marks.js";
import { callsExtras, redactedIn, signedBy } from "./signature.js";

/** A block of a message, and where it stands. */
export interface Block {
  readonly block: JsonObject;
  readonly place: string;
}

/** Reads blocks, and notes what is wrong with them. */
export interface BlockReading {
  /** A member that has to be a text; empty where it is none. @param otherwise where it is not there */
  text(block: JsonObject, member: string, place: string, otherwise?: string): string;
  /** What is JSON, as text. */
  written(value: unknown, place: string): string;
  wrong(field: string, why: string): void;
  refuseBlock(block: JsonObject, place: string): void;
}

/** Its message of the contract, in JSON, and where the parts of that stand. @param at where the message does */
export function assistantTurn(
  blocks: readonly Block[],
  at: string,
  reading: BlockReading,
): [message: JsonObject, place: Place] {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const details: JsonObject[] = [];
  const calls: ReturnType<typeof callOf>[] = [];
  const places: string[] = [];
  for (const { block, place } of blocks) {
    switch (block.type) {
      case "text":
        texts.push(reading.text(block, "text", place));
        break;
      case "thinking": {
        const thinking = reading.text(block, "thinking", place);
        const signed = signedBy(reading.text(block, "signature", place, ""), thinking);
        thoughts.push(signed.thinking);
        details.push(...signed.details);
        break;
      }
      case "redacted_thinking":
        details.push(...redactedIn(reading.text(block, "data", place)));
        break;
      case "tool_use":
        calls.push(callOf(block, place, reading));
        places.push(place);
        break;
      case "fallback":
        // Which of Anthropic's models went on, and nothing that was said.
        break;
      default:
        reading.refuseBlock(block, place);
    }
  }
  const { extras, others } = callsExtras(details);
  const end = lastMark(blocks);
  for (const call of calls) call.extra_content ??= extras.get(call.id);
  const message = {
    role: "assistant",
    content: texts.join(""),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(thoughts.length > 0 && { reasoning_content: thoughts.filter(Boolean).join("\n\n") }),
    ...(others.length > 0 && { reasoning_details: numbered(others) }),
    ...end?.mark,
  };
  return [message, { at, content: `${at}.content`, calls: places, ...end?.at }];
}

function callOf(
  { id, name, input, extra_content }: JsonObject,
  place: string,
  reading: BlockReading,
) {
  if (!isObject(input ?? {})) reading.wrong(`${place}.input`, "must be an object");
  const args = reading.written(input ?? {}, `${place}.input`);
  return { id, type: "function", function: { name, arguments: args }, extra_content };
}

/** Thoughts of several blocks, told apart by their numbers. */
const numbered = (details: readonly JsonObject[]): JsonObject[] =>
  details.every(({ index }) => index === 0)
    ? details.map((it, index) => ({ ...it, index }))
    : [...details];
