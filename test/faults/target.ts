/**
 * A scripted model server in a process of its own: streams ten pieces over about
 * 50 ms, or draws a picture. Its argument is the port; says it to its parent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { PNG } from "pngjs";

const json = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

const pieces = 10;

async function chat(request: { stream?: boolean }, response: ServerResponse): Promise<void> {
  const usage = { prompt_tokens: 5, completion_tokens: pieces, total_tokens: 5 + pieces };
  const base = { id: "1", created: 1, model: "chat" };
  if (!request.stream) {
    const message = { role: "assistant", content: "x ".repeat(pieces) };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    json(response, 200, { ...base, object: "chat.completion", choices, usage });
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (more: object) =>
    response.write(
      `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", ...more })}\n\n`,
    );
  for (let i = 0; i < pieces && !response.destroyed; i++) {
    send({ choices: [{ index: 0, delta: { content: "x " }, finish_reason: null }] });
    await pause(5);
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  send({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

function draw({ size = "64x64" }: { size?: string }, response: ServerResponse): void {
  const [width = 64, height = 64] = size.split("x").map(Number);
  const image = PNG.sync.write(new PNG({ width, height })).toString("base64");
  json(response, 200, { created: 1, data: [{ b64_json: image }] });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += part;
  return text;
}

const server = createServer(async (request, response) => {
  try {
    if (request.method === "GET") {
      const data = ["chat", "image"].map((id) => ({ id, object: "model" }));
      json(response, 200, { object: "list", data });
      return;
    }
    const text = await bodyOf(request);
    if (text.includes("fail please")) json(response, 500, { error: { message: "it failed" } });
    else if (request.url?.endsWith("/images/generations")) draw(JSON.parse(text), response);
    else await chat(JSON.parse(text), response);
  } catch {
    response.destroy();
  }
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
