/** Tokens that may be used from some addresses alone, on each door. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { Addresses, isNetwork } from "../../src/core/callers/addresses.js";
import { hashToken } from "../../src/core/tokens.js";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { gateway } from "../support/gateway.js";
import { transportOf, wires } from "./rpc-server.js";

describe("addresses", () => {
  test.each<[string, string, string]>([
    ["203.0.113.7", "203.0.113.7", "203.0.113.8"],
    ["10.0.0.0/8", "10.255.0.1", "11.0.0.1"],
    // The bits behind the prefix say nothing.
    ["10.1.2.3/16", "10.1.9.9", "10.2.0.1"],
    ["2001:db8::/32", "2001:db8:1::1", "2001:db9::1"],
    ["2001:DB8::7", "2001:db8::7", "2001:db8::8"],
    ["0.0.0.0/0", "198.51.100.1", "::1"],
    ["::/0", "::1", ""],
  ])("%s has %s, and not %j", (network, within, without) => {
    expect(isNetwork(network)).toBe(true);
    const addresses = new Addresses(["192.0.2.1", network]);
    expect(addresses.has(within)).toBe(true);
    expect(addresses.has("192.0.2.1")).toBe(true);
    if (without) expect(addresses.has(without)).toBe(false);
    expect(addresses.has(undefined)).toBe(false);
  });

  test.each([
    "",
    "10.0.0",
    "10.0.0.0/33",
    "::1/129",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "a.example",
    "*",
    "fe80::1%eth0",
    " ::1",
  ])("%j is none, and lets nobody in", (text) => {
    expect(isNetwork(text)).toBe(false);
    expect(new Addresses([text]).has("10.0.0.1")).toBe(false);
  });
});

const content = { "content-type": "application/json" };
const messages = [{ role: "user", content: "Hello" }];
const asked: readonly (readonly [path: string, body?: object])[] = [
  ["/llm", { messages }],
  ["/v1/chat/completions", { messages }],
  ["/v1/responses", { input: "x" }],
  ["/v1/messages", { model: "", max_tokens: 1, messages }],
  ["/v1beta/models/chat:generateContent", { contents: [{ parts: [{ text: "x" }] }] }],
  ["/v1/models"],
  ["/v1beta/models"],
  ["/account"],
];

/** A gateway behind a proxy on this machine, with a token for one network. */
async function serving(trusted: string) {
  const server = await Upstream.start(echo);
  onTestFinished(() => server.close());
  return gateway(`auth:
  mode: token
  tokens: [{ name: alice, hash: "${hashToken("me")}", from: [203.0.113.0/24, "2001:db8::/32"] }]
trust_proxy: ${trusted}
backends: [{ type: openai, name: server, url: "${server.url}", models: [chat] }]
`);
}

const at = (address: string) => ({ authorization: "Bearer me", "x-forwarded-for": address });

test.each(["203.0.113.7", "2001:db8::7", "198.51.100.1, 203.0.113.7"])(
  "from %s, as a trusted proxy says, every door lets its holder in",
  async (address) => {
    const { url } = await serving("[127.0.0.1]");
    const headers = at(address);
    for (const [path, body] of asked) {
      const init = body && { method: "POST", body: JSON.stringify(body) };
      const { status } = await fetch(url + path, { ...init, headers: { ...headers, ...content } });
      expect([path, status]).toEqual([path, 200]);
    }
    for (const wire of wires) {
      const chat = createClient(ChatService, transportOf(wire, url));
      expect((await chat.complete({ messages }, { headers })).choices).toHaveLength(1);
    }
  },
);

test.each([
  ["[127.0.0.1]", "198.51.100.1", "198.51.100.1"],
  // Which the caller wrote itself.
  ["[127.0.0.1]", "203.0.113.7, 198.51.100.1", "198.51.100.1"],
  ["false", "203.0.113.7", "127.0.0.1"],
])(
  "trust_proxy %s: from %s every door refuses, and the log says from where, and whose token it is",
  async (trusted, address, client) => {
    const { url, lines } = await serving(trusted);
    const headers = at(address);
    for (const [path, body] of asked) {
      const init = body && { method: "POST", body: JSON.stringify(body) };
      const answer = await fetch(url + path, { ...init, headers: { ...headers, ...content } });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(await answer.text()).toContain("this token may not be used from this address");
    }
    for (const wire of wires) {
      const chat = createClient(ChatService, transportOf(wire, url));
      const refused = await chat.complete({ messages }, { headers }).catch(ConnectError.from);
      expect(refused).toMatchObject({ code: Code.PermissionDenied });
    }
    const told = lines.filter(({ message }) => message === "call").map(({ fields }) => fields);
    expect(told).toHaveLength(asked.length + wires.length);
    for (const fields of told) {
      expect(fields).toMatchObject({
        ...{ code: "address_not_allowed", client, cause: 'the token of "alice"' },
      });
    }
  },
);
