/** Where clients are that nobody lets in, as the log has it. */
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { clientBy, peerOf } from "../../src/doors/client-address.js";
import type { Connection } from "../../src/doors/forwarded.js";
import { gateway } from "../support/gateway.js";
import { transportOf, wires } from "./rpc-server.js";

const from = (said?: string) => (name: string) => (name === "x-forwarded-for" ? said : undefined);
const over = (remoteAddress?: string): Connection => ({ remoteAddress });

describe("what is told", () => {
  test.each<[string, Connection | undefined, string | undefined]>([
    ["the connection's address", over("198.51.100.9"), "198.51.100.9"],
    ["an address of IPv4 that IPv6 carries", over("::ffff:198.51.100.9"), "198.51.100.9"],
    ["one of IPv6", over("2001:db8::9"), "2001:db8::9"],
    ["none of a Unix socket", over(), undefined],
    ["none of a connection that is closed", undefined, undefined],
  ])("where nobody is trusted: %s", (_what, connection, client) => {
    expect([clientBy(false), clientBy([])]).toEqual([undefined, undefined]);
    expect(peerOf(from("203.0.113.7"), connection)).toBe(client);
  });

  const clientOf = clientBy(["10.0.0.0/8", "127.0.0.1"]);
  test.each<[string, string | undefined, string | undefined, string | undefined]>([
    ["what a proxy says", "10.0.0.1", "203.0.113.7", "203.0.113.7"],
    ["also over IPv6", "::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"],
    ["also by a Unix socket", undefined, "203.0.113.7", "203.0.113.7"],
    ["the last that is no proxy's", "10.0.0.1", "1.1.1.1, 203.0.113.7, 10.0.0.2", "203.0.113.7"],
    ["without its port", "10.0.0.1", "203.0.113.7:4711", "203.0.113.7"],
    ["of IPv6 neither", "10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"],
    ["the proxy's own where it says none", "10.0.0.1", undefined, "10.0.0.1"],
    ["the proxy's own where that is no address", "10.0.0.1", "unknown, <b>", "10.0.0.1"],
    ["nothing that others say", "198.51.100.9", "203.0.113.7", "198.51.100.9"],
  ])("of trusted proxies: %s", (_what, address, said, client) => {
    expect(clientOf?.(from(said), over(address))).toBe(client);
  });

  test("where everybody is trusted, the first address", () => {
    expect(clientBy(true)?.(from("203.0.113.7, 198.51.100.9"), over("10.0.0.1"))).toBe(
      "203.0.113.7",
    );
  });
});

const content = { "content-type": "application/json" };
const messages = [{ role: "user", content: "x" }];
const asked: readonly (readonly [path: string, body?: object])[] = [
  ["/llm", { messages }],
  ["/text-to-image", { model_id: "", prompt: "x" }],
  ["/v1/chat/completions", { model: "m", messages }],
  ["/v1/responses", { model: "m", input: "x" }],
  ["/v1/images/generations", { prompt: "x" }],
  ["/v1/messages", { model: "m", max_tokens: 1, messages }],
  ["/v1beta/models/m:generateContent", { contents: [{ parts: [{ text: "x" }] }] }],
  ["/v1/models"],
  ["/account"],
];
const headers = { authorization: "Bearer no", "x-forwarded-for": "203.0.113.7" };

describe.each([
  ["[127.0.0.1]", "203.0.113.7"],
  ["false", "127.0.0.1"],
])("trust_proxy: %s", (trusted, client) => {
  test("a call that nobody is let in for has it in its line, on each door; others have none", async () => {
    const { url, lines } = await gateway(
      `auth: { mode: token }\ntrust_proxy: ${trusted}\nbackends: []\n`,
    );
    for (const [path, body] of asked) {
      const init = body && { method: "POST", body: JSON.stringify(body) };
      const { status } = await fetch(url + path, { ...init, headers: { ...headers, ...content } });
      expect([path, status]).toEqual([path, 401]);
    }
    for (const wire of wires) {
      const chat = createClient(ChatService, transportOf(wire, url));
      await expect(chat.complete({ messages }, { headers })).rejects.toMatchObject({
        code: Code.Unauthenticated,
      });
    }
    const told = lines.filter(({ message }) => message === "call").map(({ fields }) => fields);
    expect(told).toHaveLength(asked.length + wires.length);
    for (const fields of told) expect(fields).toMatchObject({ code: "invalid_token", client });
  });
});

test("a call that somebody is let in for has none in its line", async () => {
  const { url, lines } = await gateway("backends: []\n");
  await fetch(`${url}/v1/models`, { headers });
  await fetch(`${url}/llm`, { method: "POST", body: "{}", headers: { ...headers, ...content } });
  const told = lines.filter(({ message }) => message === "call").map(({ fields }) => fields);
  expect(told.map(({ code, client }) => [code, client])).toEqual([
    ["ok", undefined],
    [expect.any(String), undefined],
  ]);
});
