/** What the log's line of a call tells. */
import { expect, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { coreOf, run } from "../support/core.js";
import { piece, scripted, usesTool } from "../support/scripted.js";

const cut = (reason: string) =>
  scripted({
    async *chat() {
      yield [piece("Once upon", reason)];
    },
  });

test.each(["chat", "complete"] as const)("%s: why it ended, but by itself", async (method) => {
  const ends = async (backend: ReturnType<typeof scripted>) => {
    const told: unknown[] = [];
    const info = (fields: object, message: string) => {
      if (message === "call") told.push((fields as { finishReason?: string }).finishReason);
    };
    const messages = [{ role: "user", content: "Hello" }];
    await run(coreOf([backend], {}, { log: { ...silent, info } }), method, { messages });
    return told;
  };
  expect(await ends(cut("length"))).toEqual(["length"]);
  expect(await ends(cut("content_filter"))).toEqual(["content_filter"]);
  expect(await ends(cut("stop"))).toEqual([undefined]);
  expect(await ends(scripted({ chat: usesTool("weather") }))).toEqual(["tool_calls"]);
});
