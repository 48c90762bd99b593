/**
 * Arguments of calls as their vendors wrote them: Anthropic, Bedrock and Google have objects where providers
 * of the AI SDK hand on texts, and make these by JavaScript's own numbers, which lose digits. Providers also
 * refuse all of an answer in which a key is called `__proto__`.
 */
import { TransformStream } from "node:stream/web";
import { Response } from "undici";
import { isObject, isTooDeep, type JsonObject, parseJson } from "../../core/json.js";
import { asWritten, losesNumbers, parseMarked } from "../../core/long-numbers.js";
import { Collected } from "../../core/pieces.js";
import { randomId } from "../../core/random-id.js";

/** Where vendors have arguments as objects: in whole answers, or in the events of streams, too. */
export type WrittenIn = "whole" | "always";

/** Member of an object that stands for another one, which it has as a text. Not known to any model. */
const kept = `lintel-${randomId(24)}`;
const begin = `{"${kept}":`;

/** What such an object is called in answers. */
const members: ReadonlySet<string> = new Set(["args", "input"]);
const mentioned = /"(?:args|input)"/;
const refused = /__proto__|constructor/;

/** Whether a request offers tools: no other answer has such objects. */
export const offersTools = (body: unknown): boolean =>
  typeof body === "string" && body.includes('"tools"');

/** A text that a provider made of such an object, with what the vendor wrote; any other as it is. */
export function unwrapped(text: string): string {
  if (!text.startsWith(begin)) return text;
  const { [kept]: written } = parseJson(text) as JsonObject;
  return written as string;
}

/** A whole answer, with arguments as texts in objects where a provider would change them. */
export async function withWritten(response: Response): Promise<Response> {
  const { body, status, statusText, headers } = response;
  if (!body) return response;
  return new Response(wrapped(await response.text()), { status, statusText, headers });
}

/** A stream of events of one line each, with such arguments. */
export function eventsWithWritten(response: Response): Response {
  const { body, status, statusText, headers } = response;
  if (!body) return response;
  const open = new Collected();
  const lines = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      const end = 1 + Math.max(part.lastIndexOf(lineFeed), part.lastIndexOf(carriageReturn));
      if (end > 0) {
        open.add(part.subarray(0, end));
        controller.enqueue(inLines(open.take()));
      }
      if (end < part.length) open.add(part.subarray(end));
    },
    flush(controller) {
      if (open.length > 0) controller.enqueue(inLines(open.take()));
    },
  });
  return new Response(body.pipeThrough(lines), { status, statusText, headers });
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** A line of data, the first behind a byte order mark, too. */
const dataLine = /(^\ufeff?|[\r\n])(data: ?)([^\r\n]*)/g;

function inLines(bytes: Buffer): Buffer {
  if (!isChanged(bytes.toString("latin1"))) return bytes;
  const text = bytes
    .toString("utf8")
    .replace(dataLine, (_, before, field, data) => before + field + wrapped(data));
  return Buffer.from(text);
}

const isChanged = (text: string): boolean =>
  mentioned.test(text) && (losesNumbers(text) || refused.test(text));

function wrapped(json: string): string {
  if (!isChanged(json)) return json;
  const answer = parseMarked(json);
  if (typeof answer !== "object" || answer === null || isTooDeep(answer)) return json;
  wrapIn(answer as Record<string, unknown>);
  return asWritten(JSON.stringify(answer));
}

/** Wraps all arguments in an answer, which may be nested without end. */
function wrapIn(answer: Record<string, unknown>): void {
  const open = [answer];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const name in next) {
      const value = next[name];
      if (members.has(name) && isObject(value)) next[name] = { [kept]: JSON.stringify(value) };
      else if (typeof value === "object" && value !== null) {
        open.push(value as Record<string, unknown>);
      }
    }
  }
}
