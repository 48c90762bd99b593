/**
 * All that a gateway leans on, scripted, in a process of its own that can be killed and started again:
 * a model server for chats and images, whose list changes, a guard's server, a receiver of alerts and a
 * collector. What it does is told by words in the prompt: `do:break` everywhere, `do:break@a` at the
 * server `a` alone. Arguments: the port (0: a free one) and its name; says the port to its parent.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { PNG } from "pngjs";

const [port = "0", name = "a"] = process.argv.slice(2);
/** How long a name stays in the list of models, milliseconds; three are there at a time. */
const listedMs = 3000;
/** Chats and images that are answered now. */
let running = 0;

const json = (response: ServerResponse, status: number, body: object, headers: object = {}) =>
  response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));

const words = [
  "Write ",
  "to so",
  "me.on",
  "e@exam",
  "ple.com ",
  "or ",
  "do ",
  "not ",
  "at ",
  "all.",
];
const usage = { prompt_tokens: 5, completion_tokens: words.length, total_tokens: 15 };

/** A chat; `deed` is what goes wrong with it. */
async function chat(model: string, stream: boolean, deed: string, response: ServerResponse) {
  const base = { id: "1", created: 1, model };
  const ms = deed === "slow" ? 60 : 2;
  if (!stream) {
    await pause(ms * 5);
    const message = { role: "assistant", content: words.join("") };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    if (deed === "break") return void response.writeHead(200).write("{", () => response.destroy());
    return void json(response, 200, { ...base, object: "chat.completion", choices, usage });
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (more: object) =>
    response.write(
      `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", ...more })}\n\n`,
    );
  if (deed === "early") return void response.destroy();
  for (const [i, content] of words.entries()) {
    if (response.destroyed) return;
    if (i === 4 && deed === "break") return void response.destroy();
    if (i === 4 && deed === "garbage") return void response.end("data: {nonsense\n\n");
    if (i === 4 && deed === "silent") await new Promise((resolve) => response.on("close", resolve));
    send({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    await pause(ms);
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  send({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

/** Noise, so that it has some size: 64 by 64 is about 12 KB. */
function draw(response: ServerResponse): void {
  const image = new PNG({ width: 64, height: 64 });
  randomBytes(image.data.length).copy(image.data);
  const b64_json = PNG.sync.write(image, { colorType: 2 }).toString("base64");
  json(response, 200, { created: 1, data: [{ b64_json }] });
}

function listed(): string[] {
  const now = Math.floor(Date.now() / listedMs);
  return ["chat", "image", `listed-${now}`, `listed-${now - 1}`, `listed-${now - 2}`];
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += part;
  return text;
}

async function work(path: string, text: string, response: ServerResponse): Promise<void> {
  const [, deed = "", where = name] = /do:(\w+)(?:@(\w+))?/.exec(text) ?? [];
  const done = where === name ? deed : "";
  if (done === "hang") return void (await new Promise((resolve) => response.on("close", resolve)));
  if (done === "reset") return void response.socket?.resetAndDestroy();
  const status = Number(/^status(\d+)$/.exec(done)?.[1] ?? 200);
  if (status !== 200) return json(response, status, { error: { message: "it failed" } }) as never;
  if (path.endsWith("/images/generations")) return draw(response);
  const { model, stream = false } = JSON.parse(text) as { model: string; stream?: boolean };
  await chat(model, stream, done, response);
}

let asked = 0;
const server = createServer(async (request, response) => {
  const path = request.url ?? "";
  try {
    const text = await bodyOf(request);
    if (path === "/running") json(response, 200, { running });
    else if (request.method === "GET") {
      json(response, 200, {
        object: "list",
        data: listed().map((id) => ({ id, object: "model" })),
      });
    } else if (path === "/check") {
      if (text.includes("guard:fail")) response.destroy();
      else json(response, 200, { action: text.includes("guard:flag") ? "flag" : "allow" });
    } else if (
      path.startsWith("/v1/traces") ||
      path.startsWith("/v1/metrics") ||
      path === "/alerts"
    ) {
      json(response, asked++ % 7 === 0 ? 503 : 200, {});
    } else {
      running++;
      response.once("close", () => running--);
      await work(path, text, response);
    }
  } catch {
    response.destroy();
  }
});
// Without the one who started it nobody would end it.
process.on("disconnect", () => process.exit());
server.keepAliveTimeout = 3000;
server.listen(Number(port), "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
