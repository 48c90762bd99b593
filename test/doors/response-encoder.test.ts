/** Events of the Responses API as text: how long they are, and what is in them. */
import { expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { responseEncoder } from "../../src/doors/openai/responses/events.js";
import { piece } from "../support/scripted.js";
import { responseEvents } from "./response-events.js";

const stamp = { id: "chatcmpl-a-b_c", created: 5, model: "Modell für alle" };

/** All that an encoder makes of messages; how long it says that it is has to be true. */
function encoded(batch: LLMResponse[]): string {
  const encoder = responseEncoder({ model: undefined }, "", {
    members: '"store":false',
    inJson: false,
    namespaces: new Map(),
    loads: new Map(),
  });
  let all = "";
  const add = (events: string, bytes?: number) => {
    if (bytes !== undefined) expect(bytes).toBe(Buffer.byteLength(events));
    all += events;
  };
  encoder.messages(
    batch.map((message) => ({ ...message, ...stamp })),
    { add },
  );
  return all + encoder.end();
}

const eventsOf = (text: string) => responseEvents(new Response(text));

test("ids are those of the core, by their kinds", async () => {
  const events = await eventsOf(encoded([piece("Hi"), piece("", "stop", [1, 1])]));
  const response = { id: "resp_a-b_c", created_at: 5, model: stamp.model };
  expect(events[0]).toMatchObject({ response });
  expect(events.at(-1)).toMatchObject({
    response: { ...response, output: [{ id: "msg_a-b_c" }] },
  });
});

test("bytes are counted, of letters outside of ASCII and of long numbers, too", async () => {
  const texts = [...Array(200).fill("plain"), "Grüße", "~\u007f", '"\\\n', "plain"];
  const events = await eventsOf(encoded([...texts.map((text) => piece(text)), piece("", "stop")]));
  const deltas = events.filter(({ delta }) => delta !== undefined);
  expect(deltas.map(({ delta }) => delta)).toEqual(texts);
  expect(events.at(-1).response.output[0].content[0].text).toBe(texts.join(""));
});

test("any text survives", async () => {
  const text = '"\\\u0000\u0085\u2028\u2029\n\n data: x\r\nevent: y\n😀\ud800';
  const events = await eventsOf(encoded([piece(text), piece("", "stop")]));
  expect(events.find(({ delta }) => delta !== undefined)?.delta).toBe(text);
});
