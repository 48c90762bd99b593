/** Whole answers to those who asked for a stream: servers and proxies that don't stream send them. */
import { ReadableStream } from "node:stream/web";
import { Headers, Response } from "undici";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { beginningOf } from "../completions/form.js";

/** Whether a request's body asks for a stream, as `JSON.stringify` writes it. */
export function asksForStream(body: unknown): boolean {
  // Elsewhere it may stand, too, and hardly does; a conversation may be long.
  if (typeof body !== "string" || !body.includes('"stream":true')) return false;
  const request = parseJson(body);
  return isObject(request) && request.stream === true;
}

/** A whole answer as the one event of a stream, which is all that providers read then; a stream as it is. */
export async function asEvents(response: Response): Promise<Response> {
  const { status, statusText, body } = response;
  if (!body) return response;
  const reader = body.getReader();
  const head = Object.fromEntries(response.headers);
  const first = await beginningOf(head, async () => (await reader.read()).value);
  const rest = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(first.bytes),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  if (!first.whole) return new Response(rest, { status, statusText, headers: head });
  const text = await new Response(rest).text();
  const answer = parseJson(text);
  if (answer === undefined) return new Response(text, { status, statusText });
  const headers = new Headers(head);
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
  delta: isObject(message) ? withIndices(message) : (message ?? {}),
  finish_reason: finish_reason || "stop",
});

/** Whole calls of tools have no index; in a stream OpenAI's provider looks for it. */
function withIndices(message: JsonObject): JsonObject {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  const numbered = calls.map((call, index) => (isObject(call) ? { index, ...call } : call));
  return { ...message, tool_calls: numbered };
}
