/** A whole gateway with guards, and the model server behind it. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { echo } from "../backends/openai-subject.js";
import { type Script, Upstream } from "../backends/upstream.js";
import { gateway } from "../support/gateway.js";

/** What a guard of these tests must not let through. */
export const secret = "me@example.com";

/** A model server that says what it was told, and the prompts that it was asked. */
export async function modelServer(script: Script = echo) {
  const prompts: string[] = [];
  const upstream = await Upstream.start(async (exchange) => {
    if (exchange.request.method === "GET") return exchange.sendJson(404, {});
    prompts.push(exchange.json().messages.at(-1).content);
    return script(exchange);
  });
  onTestFinished(() => upstream.close());
  return { url: upstream.url, prompts };
}

/** A gateway before a model server that says what it was told, and a way to ask it. */
export async function guardedGateway(guards: string) {
  const { url, prompts } = await modelServer();
  const backends = `backends: [{ type: openai, name: a, url: "${url}", models: [m] }]\n`;
  const it = await gateway(backends + guards);
  return { ...it, ...asking(it.url), backends, prompts };
}

/** Ways to ask the gateway at an address. */
export function asking(url: string) {
  const post = async (path: string, body: object, headers: object = {}) => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { authorization: "Bearer me", "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const chat = (content: string, more = {}, headers: object = {}) =>
    post(
      "/v1/chat/completions",
      { model: "m", messages: [{ role: "user", content }], ...more },
      headers,
    );
  return { post, chat };
}

/** What a guard that is a server is asked. */
export interface Question {
  texts?: { text: string }[];
  input?: unknown[];
}

/** A server that says what becomes of texts and images; its port. */
export async function deciding(
  say: (question: Question) => readonly [status: number, body: object],
): Promise<number> {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const [status, body] = say(JSON.parse(text));
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}
