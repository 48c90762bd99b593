/** The Messages API, asked for a whole answer and for a stream. */
import { expect } from "vitest";
import { scripted } from "../support/scripted.js";
import { messageEvents } from "./message-events.js";
import { hello, path } from "./messages-request.js";
import { json, serve } from "./serve.js";

/** Asks for thoughts. */
export const adaptive = { thinking: { type: "adaptive" } };

/** What a model answers. */
export type Chat = Parameters<typeof scripted>[0]["chat"];

/** A whole answer. */
export async function whole(chat: Chat, more: object = {}) {
  const server = await serve(scripted({ chat }));
  return json(await server.post(path, hello(more)));
}

/** The events of a stream, and the message that they make, as Anthropic's clients put it together. */
export async function streamed(chat: Chat, more: object = {}) {
  const server = await serve(scripted({ chat }));
  const events = await messageEvents(await server.post(path, hello({ ...more, stream: true })));
  // biome-ignore lint/suspicious/noExplicitAny: the message is looked at as a client would
  let message: any;
  const open = new Set<number>();
  for (const { type, index, delta, ...event } of events) {
    if (type === "message_start") message = structuredClone(event.message);
    if (type === "content_block_start") {
      expect(index).toBe(message.content.length);
      message.content.push({ ...event.content_block, json: "" });
      open.add(index);
    }
    if (type === "content_block_delta") {
      expect(open.has(index)).toBe(true);
      const block = message.content[index];
      const { type: kind, partial_json: json = "", ...said } = delta;
      for (const [name, text] of Object.entries(said)) block[name] += text;
      block.json += json;
      expect(`${block.type}/${kind}`).toMatch(
        /^(?:text\/text|thinking\/(?:thinking|signature)|tool_use\/input_json)_delta$/,
      );
    }
    if (type === "content_block_stop") expect(open.delete(index)).toBe(true);
    if (type === "message_delta") Object.assign(message, delta, { usage: event.usage });
  }
  if (events.at(-1)?.type === "message_stop") expect(open.size).toBe(0);
  for (const block of message?.content ?? []) {
    if (block.type === "tool_use") block.input = JSON.parse(block.json || "{}");
    delete block.json;
  }
  return { events, message };
}

/** Tokens as answers count them. */
export const usage = (input: number, output: number, more: object = {}) => ({
  ...{ input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  ...{ output_tokens: output, ...more },
});
