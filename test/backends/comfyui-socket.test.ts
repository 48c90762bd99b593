/** Messages of ComfyUI's websocket that nobody reads. */
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { Socket } from "../../src/backends/comfyui/socket.js";

it("who waits for a message hears at once that the connection ended", async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `ws://127.0.0.1:${port}`;
  const socket = await Socket.open({ url, headers: {}, timeout: 10_000 });
  const day = 86_400_000;
  const next = socket.next(day);
  for (const client of server.clients) client.close();
  expect(await next).toBeUndefined();
});

describe("messages that nobody reads", () => {
  /** A connection to a server that says something and leaves, once all of it came. */
  async function flooded(say: (socket: WebSocket) => void): Promise<Socket> {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close());
    server.on("connection", (socket) => {
      say(socket);
      socket.close();
    });
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const url = `ws://127.0.0.1:${port}`;
    const socket = await Socket.open({ url, headers: {}, timeout: 10_000 });
    await vi.waitFor(() => expect(socket.alive).toBe(false));
    return socket;
  }

  const text = (type: string, data: object) => JSON.stringify({ type, data });

  async function all(socket: Socket) {
    const messages = [];
    for (let next = await socket.next(0); next; next = await socket.next(0)) messages.push(next);
    return messages;
  }

  it("pile up no further than they are worth: the end is among them, whatever came before", async () => {
    const socket = await flooded((socket) => {
      for (let value = 1; value <= 1500; value++) {
        socket.send(text("progress", { prompt_id: "p", node: "3", value, max: 1500 }));
      }
      socket.send(text("execution_success", { prompt_id: "p" }));
    });
    const messages = await all(socket);
    expect(messages).toHaveLength(1001);
    expect(messages.at(-1)?.type).toBe("finished");
  });

  it("have few large previews among them, the newest", async () => {
    const preview = (n: number) => {
      const head = [0, 0, 0, 1, 0, 0, 0, 2, n];
      return Buffer.concat([Buffer.from(head), Buffer.alloc(1.5 * 1024 * 1024)]);
    };
    const socket = await flooded((socket) => {
      for (let n = 1; n <= 50; n++) socket.send(preview(n));
      socket.send(text("execution_success", { prompt_id: "p" }));
    });
    const told = (await all(socket)).map((it) => (it.type === "preview" ? it.image[0] : it.type));
    expect(told).toEqual([49, 50, "finished"]);
  });

  it("may be frames that are too short, or of other kinds", async () => {
    const socket = await flooded((socket) => {
      for (let length = 0; length < 9; length++) socket.send(Buffer.alloc(length, 1));
      // With metadata that would end behind the frame, and of a kind that nobody knows.
      socket.send(Buffer.from([0, 0, 0, 4, 0, 0, 0, 9, 123, 125]));
      socket.send(Buffer.from([0, 0, 0, 3, 0, 0, 0, 1, 7]));
      socket.send(Buffer.from([0, 0, 0, 4, 0, 0, 0, 2, 123, 125, 7]));
      socket.send(text("execution_success", { prompt_id: "p" }));
    });
    const told = (await all(socket)).map((it) => (it.type === "preview" ? it.image[0] : it.type));
    expect(told).toEqual([7, "finished"]);
  });

  it.each([
    ["thousands of them", 5000, ""],
    ["many bytes of them", 5, " ".repeat(10 * 1024 * 1024)],
  ])("end the connection where there are %s, and what came before is kept", async (_, n, more) => {
    const socket = await flooded((socket) => {
      for (let i = 0; i < n; i++)
        socket.send(text("execution_success", { prompt_id: `${i}`, more }));
    });
    const messages = await all(socket);
    expect(messages[0]).toEqual({ type: "finished", prompt: "0" });
    expect(messages).toHaveLength(n === 5 ? 3 : 2000);
  });
});
