/** What a model answers besides text, and answers have no place for, is told on every door: in the answer, and whole answers have it in the header, too. */
import { expect, test } from "vitest";
import { compatible } from "../backends/ai-sdk-thoughts.js";
import { serve } from "../backends/serve.js";
import { gateway } from "../support/gateway.js";

const told = "content: answers are text and images, left out: sounds of the model";
const messages = [{ role: "user", content: "Say it." }];
const chat = { model: "m", messages };
const contents = { contents: [{ parts: [{ text: "Say it." }] }] };
const rpc = "/lintel.v1.ChatService/Complete";

test.each([
  ["/llm", chat, false],
  ["/llm", { ...chat, stream: true }, true],
  ["/v1/chat/completions", chat, false],
  ["/v1/chat/completions", { ...chat, stream: true }, true],
  ["/v1/messages", { ...chat, max_tokens: 9 }, false],
  ["/v1/messages", { ...chat, max_tokens: 9, stream: true }, true],
  ["/v1/responses", { model: "m", input: "Say it." }, false],
  ["/v1/responses", { model: "m", input: "Say it.", stream: true }, true],
  ["/v1beta/models/m:generateContent", contents, false],
  ["/v1beta/models/m:streamGenerateContent?alt=sse", contents, true],
  [rpc, chat, false],
])("%s with %o", async (path, body, streams) => {
  const audio = { id: "a", data: "UklGRiQA" };
  const server = await serve(async (exchange) => {
    if (exchange.request.method === "GET") return exchange.sendJson(404, {});
    return compatible({ content: "Here it is.", audio })(exchange);
  });
  const { url } = await gateway(
    `backends: [{ type: openai, name: a, url: "${server.url}", models: [m] }]\n`,
  );
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { authorization: "Bearer me", "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  expect([answer.status, text]).toEqual([200, expect.stringContaining("Here it is.")]);
  expect(text.split(JSON.stringify([told]))).toHaveLength(2);
  expect(text).not.toContain("UklGRiQA");
  if (!streams) expect(answer.headers.get("x-lintel-warnings")).toBe(told);
});
