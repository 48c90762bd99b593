/** A server that gives signs of life long before it says anything takes no memory for each of them. */
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { readCompletion } from "../../src/backends/completions/completion.js";
import { reading } from "../../src/backends/completions/reading.js";
import { piece } from "../../src/backends/completions/stream.js";
import type { Answer } from "../../src/backends/http/answer.js";
import { completion } from "../../src/core/completion/step.js";
import { tell } from "../../src/core/steps.js";
import { text } from "./contract-chat.js";
import { chatRequest, chunk } from "./openai-subject.js";
import { callOf } from "./subject.js";

const signs = 50_000;
/** A promise and what is behind it take about a hundred bytes. */
const mostBytes = 1.5 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");
function used(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const event = (value: object) => Buffer.from(`data: ${JSON.stringify(value)}\n\n`);

async function said(steps: AsyncIterable<readonly LLMResponse[]>): Promise<string> {
  const messages: LLMResponse[] = [];
  for await (const step of steps) messages.push(...step);
  return text(messages);
}

it("by the reads of an OpenAI-compatible server", async () => {
  const sign = [event(chunk({ content: null }))];
  const end = [event(chunk({ content: "42" })), event(chunk({}, "stop"))];
  let before = 0;
  let after = 0;
  let reads = 0;
  const read = async () => {
    await setImmediate();
    if (++reads === 1000) before = used();
    if (reads === signs) after = used();
    if (reads <= signs) return sign;
    return reads === signs + 1 ? end : undefined;
  };
  const answer: Partial<Answer> = {
    headers: { "content-type": "text/event-stream" },
    drain() {},
    readTo: (reader) => tell(read(), reader),
  };
  const stream = reading(callOf("chat", chatRequest()), {
    ask: async () => answer as Answer,
    whole: readCompletion,
    take: (event, stream, out) => stream.push(event, out),
  });
  expect(await said(stream)).toBe("42");
  expect(after - before).toBeLessThan(mostBytes);
});

it("by the steps of a backend", async () => {
  let before = 0;
  let after = 0;
  const stamp = { ...piece({} as never, ""), id: "", model: "m", created: 0, warnings: [] };
  async function* silent(): AsyncGenerator<readonly LLMResponse[]> {
    for (let steps = 1; steps <= signs; steps++) {
      if (steps === 1000) before = used();
      if (steps === signs) after = used();
      yield [piece(stamp, "")];
    }
    yield [piece(stamp, "42"), piece(stamp, "", "stop")];
  }
  const handle = completion((() => silent()) as never) as unknown as (
    call: unknown,
  ) => AsyncIterable<readonly LLMResponse[]>;
  expect(await said(handle(callOf("chat", chatRequest())))).toBe("42");
  expect(after - before).toBeLessThan(mostBytes);
});
