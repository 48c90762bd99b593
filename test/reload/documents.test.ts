/** Documents that are read to models which take no files, over reloads of a whole gateway. */
import { expect, test } from "vitest";
import { lines, pdf } from "../documents/pdf.js";
import { processes } from "../documents/processes.js";
import { gateway } from "../support/gateway.js";
import { modelServer } from "./model-server.js";

test("whether any are read, and how, is said anew", async () => {
  const server = await modelServer("a");
  const backends = `backends:\n  - { type: openai, name: a, url: "${server.url}", models: [a], dialect: vllm }\n`;
  const it = await gateway(backends);
  const ask = async () => {
    const file_data = `data:application/pdf;base64,${pdf([lines("Hello")]).toString("base64")}`;
    const answer = await fetch(`${it.url}/llm`, {
      method: "POST",
      headers: { authorization: "Bearer me", "content-type": "application/json" },
      body: JSON.stringify({
        model: "a",
        messages: [{ role: "user", content: [{ type: "file", file: { file_data } }] }],
      }),
    });
    const { warnings, error } = (await answer.json()) as {
      warnings?: string[];
      error?: { message: string };
    };
    return error?.message ?? warnings?.[0];
  };
  const told = "messages: this model takes no files, of documents it is told the text";
  const { begun } = processes();
  expect(await ask()).toBe(told);

  // What was read is known still where something else changes.
  it.write(`expose_sources: true\n${backends}`);
  await it.reload();
  expect(await ask()).toBe(told);
  expect(begun).toHaveLength(1);

  it.write(`documents: { read: false }\n${backends}`);
  await it.reload();
  expect(await ask()).toBe("messages: messages[0] has a file, and this model takes none");

  // Nothing is read within a millisecond: a process takes longer to begin.
  it.write(`documents: { timeout: 1ms }\n${backends}`);
  await it.reload();
  expect(await ask()).toBe(
    "messages[0].content[0]: this model takes no files, and the text can't be read: reading the PDF took more than 0.001 s",
  );

  it.write(backends);
  await it.reload();
  expect(await ask()).toBe(told);
});
