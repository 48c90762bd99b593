/** Whole answers to those who asked for a stream: servers and proxies that don't stream send them. */
import { Headers, Response } from "undici";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";

/** Whether a request's body asks for a stream. */
export function asksForStream(body: unknown): boolean {
  const request = typeof body === "string" ? parseJson(body) : undefined;
  return isObject(request) && request.stream === true;
}

/** A whole answer as the one event of a stream, which is all that providers read then. */
export async function asEvents(whole: Response): Promise<Response> {
  const { status, statusText } = whole;
  const text = await whole.text();
  const answer = parseJson(text);
  if (answer === undefined) return new Response(text, { status, statusText });
  const headers = new Headers(whole.headers);
  headers.set("content-type", "text/event-stream");
  const event = isObject(answer) ? chunkOf(answer) : answer;
  return new Response(`data: ${JSON.stringify(event)}\n\n`, { status, statusText, headers });
}

function chunkOf(answer: JsonObject): JsonObject {
  const { choices } = answer;
  if (!Array.isArray(choices)) return answer;
  return {
    ...answer,
    choices: choices.map((choice) => (isObject(choice) ? deltaOf(choice) : choice)),
  };
}

/** Ollama and others leave the reason null in whole answers that are complete. */
const deltaOf = ({ message, finish_reason, ...choice }: JsonObject): JsonObject => ({
  ...choice,
  delta: message ?? {},
  finish_reason: finish_reason || "stop",
});
