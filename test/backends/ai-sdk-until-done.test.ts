/** Errors in no event, wherever a stream of an AI SDK provider is cut. */
import { ReadableStream } from "node:stream/web";
import { expect, test } from "vitest";
import { untilDone } from "../../src/backends/ai-sdk/until-done.js";

/** What readers get of a stream that comes in these pieces. */
async function read(pieces: readonly Buffer[]): Promise<string> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) if (piece.length > 0) controller.enqueue(piece);
      controller.close();
    },
  });
  let text = "";
  for await (const part of untilDone(body)) text += Buffer.from(part).toString();
  return text;
}

test.each(["\n", "\r\n"])("each event has data, with lines that end in %j", async (end) => {
  const error = { error: { message: "too long", code: 400 } };
  const event = { choices: [] };
  const lines = [`data: ${JSON.stringify(event)}`, "", JSON.stringify(error), "", "data: [DONE]"];
  const bytes = Buffer.from(`${lines.join(end)}${end}${end}`);
  for (let cut = 0; cut < bytes.length; cut++) {
    const said = (await read([bytes.subarray(0, cut), bytes.subarray(cut)]))
      .split(/\r\n|\n/)
      .filter((line) => line.startsWith("data"))
      .map((line) => line.replace(/^data:? ?/, ""))
      .filter((data) => data !== "[DONE]")
      .map((data) => (data === "" ? data : JSON.parse(data)));
    expect(said, `cut at ${cut}`).toEqual([event, error]);
  }
});
