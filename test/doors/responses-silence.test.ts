/** What streams of the Responses API have in silence. */
import { expect, test } from "vitest";
import { gate } from "../support/calls.js";
import { piece } from "../support/scripted.js";
import { serveChat } from "./serve.js";

/** A stream whose model is silent until a sign of life was seen, ahead of its first words and between them. */
async function streamed(sign: RegExp, headers: Record<string, string>, tools: object[] = []) {
  const gates = [gate(), gate()];
  const { post } = await serveChat(
    async function* () {
      await gates[0]?.opened;
      yield [piece("Hi")];
      await gates[1]?.opened;
      yield [piece("", "stop", [1, 1])];
    },
    { doors: { keepAliveMs: 5, holdMs: 1 } },
  );
  const asked = { input: "Hello", model: "chat-1", stream: true, tools };
  const answer = await post("/v1/responses", asked, headers);
  let text = "";
  for await (const bytes of answer.body ?? []) {
    text += Buffer.from(bytes).toString();
    const [before = "", after] = text.split("event: response.output_text.delta");
    if (sign.test(before)) gates[0]?.open();
    if (sign.test(after ?? "")) gates[1]?.open();
  }
  return text;
}

const datasOf = (text: string) =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));

test.each([
  ["with functions", []],
  ["with custom tools", [{ type: "custom", name: "patch" }]],
])("are OpenAI's own events to Codex, which hears no comments: %s", async (_, tools) => {
  const text = await streamed(/event: keepalive\n/, { originator: "codex_cli_rs" }, tools);
  const events = datasOf(text);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
  expect(events.find(({ type }) => type === "keepalive")).toEqual({
    type: "keepalive",
    sequence_number: 0,
  });
  expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  expect(text).not.toContain(": keep-alive");
});

test("are comments to all others, of whom many know no such event", async () => {
  const text = await streamed(/^: keep-alive$/m, {});
  expect(datasOf(text).map(({ type }) => type)).not.toContain("keepalive");
});
