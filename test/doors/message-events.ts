/** Reads streams of Anthropic's Messages API. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers without their types
export type MessageEvent = any;

/** The events of a finished stream: each says its type twice, and the last one is its end, or an error. */
export async function messageEvents(response: Response): Promise<MessageEvent[]> {
  const blocks = (await response.text()).split("\n\n").filter((it) => it !== "" && it[0] !== ":");
  const events = blocks.map((block) => {
    const [, type, data = ""] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    const event = JSON.parse(data || "null");
    if (event?.type !== type) throw new Error(`not an event: ${JSON.stringify(block)}`);
    return event;
  });
  const end = events.at(-1)?.type;
  if (end !== "message_stop" && end !== "error") throw new Error(`the stream ends with ${end}`);
  return events;
}
