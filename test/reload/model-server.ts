/** A model server on loopback that streams one piece, and the rest when it is told to. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A server that runs until the test ends. */
export interface ModelServer {
  readonly url: string;
  /** How often its models were asked for, which is how a health check asks. */
  readonly listed: number;
  /** Ends the streams that wait. */
  release(): void;
  /** Resolves when no connection to it is left. */
  left(): Promise<void>;
}

/** Starts one with a model of this name. */
export async function modelServer(model: string): Promise<ModelServer> {
  const waiting = new Set<() => void>();
  let connections = 0;
  let listed = 0;
  let told = () => {};
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      listed++;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ object: "list", data: [{ id: model, object: "model" }] }));
      return;
    }
    let text = "";
    for await (const part of request) text += part;
    const chunk = (delta: object, reason: string | null = null) =>
      `data: ${JSON.stringify({
        id: "1",
        object: "chat.completion.chunk",
        created: 1,
        model,
        choices: [{ index: 0, delta, finish_reason: reason }],
      })}\n\n`;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk({ role: "assistant", content: "one" }));
    if (text.includes("wait")) {
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
      });
    }
    response.end(`${chunk({ content: " two" })}${chunk({}, "stop")}data: [DONE]\n\n`);
  });
  server.on("connection", (socket) => {
    connections++;
    socket.on("close", () => {
      connections--;
      told();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close().closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get listed() {
      return listed;
    },
    release() {
      for (const release of waiting) release();
      waiting.clear();
    },
    left: () =>
      new Promise((resolve) => {
        told = () => connections === 0 && resolve();
        told();
      }),
  };
}

/** Its entry in the configuration. */
export const backend = (name: string, url: string) =>
  `  - { type: openai, name: ${name}, url: "${url}", models: [${name}] }\n`;

/** The status of an answer that nobody reads on. */
export async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer;
  await body?.cancel();
  return status;
}
