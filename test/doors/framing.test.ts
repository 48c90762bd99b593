/** Streams end where HTTP says that they do, whatever came before and after on their connection. */
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { Client } from "undici";
import { describe, expect, test } from "vitest";
import { says } from "../support/scripted.js";
import { hello, serveChat } from "./serve.js";

const words = ["Grüße, ", '"x"\n', "😀"];

const streamed = (body: string) => {
  const events = body.split("\n\n").filter((event) => event.startsWith("data: {"));
  const pieces = events.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta?.content ?? "");
  expect(body).toMatch(/data: \[DONE\]\n\n$/);
  return pieces.join("");
};

describe("streams on one connection", () => {
  test.each([1, 3])("follow each other, %i requests at a time", async (pipelining) => {
    const server = await serveChat(says(...words));
    const client = new Client(server.url, { pipelining });
    const headers = { authorization: "Bearer me", "content-type": "application/json" };
    const ask = async (stream: boolean) => {
      const body = JSON.stringify(hello({ stream }));
      const answer = await client.request({ path: "/llm", method: "POST", headers, body });
      return answer.body.text();
    };
    const [first = "", whole = "", second = ""] = await Promise.all([
      ask(true),
      ask(false),
      ask(true),
    ]);
    expect(streamed(first)).toBe(words.join(""));
    expect(JSON.parse(whole).choices[0].message.content).toBe(words.join(""));
    expect(streamed(second)).toBe(words.join(""));
    await client.close();
  });

  test("are not in chunks for a client that does not know them", async () => {
    const server = await serveChat(says(...words));
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    const body = JSON.stringify(hello({ stream: true }));
    const head = `POST /llm HTTP/1.0\r\nauthorization: Bearer me\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    socket.write(head + body);
    const [headers = "", ...rest] = (await text(socket)).split("\r\n\r\n");
    expect(headers).toMatch(/^HTTP\/1.1 200/);
    expect(headers.toLowerCase()).not.toContain("transfer-encoding");
    expect(rest).toHaveLength(1);
    expect(rest[0]).toMatch(/^data: \{/);
    expect(streamed(rest[0] ?? "")).toBe(words.join(""));
  });
});
