/** Who may administer a gateway, where, and since when. */

import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { TokensService } from "../../gen/lintel/admin/v1/tokens_pb.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { administered, adminLines, as, secret } from "./gateway.js";

async function reflected(baseUrl: string): Promise<string[]> {
  const transport = createConnectTransport({ baseUrl, httpVersion: "2" });
  const asked = (async function* () {
    yield { messageRequest: { case: "listServices" as const, value: "" } };
  })();
  for await (const { messageResponse } of createClient(
    ServerReflection,
    transport,
  ).serverReflectionInfo(asked)) {
    if (messageResponse.case !== "listServicesResponse") break;
    return messageResponse.value.service.map(({ name }) => name);
  }
  throw new Error("no services were listed");
}

const list = "TokensService/ListTokens";

it("does not exist where nobody is an administrator", async () => {
  const { post, url } = await administered("");
  const { status, json } = await post(list, {});
  expect([status, json.error.code]).toEqual([404, "not_found"]);
  expect((await reflected(url)).filter((name) => name.includes("admin"))).toEqual([]);
});

it("takes administrators' tokens and no others, and these open nothing else", async () => {
  const { post, url, tokens, chat } = await administered();
  const { secret: callers } = await tokens.createToken({ name: "a" }, as());
  for (const token of [callers, createToken(), "me", null]) {
    const { status, headers, json } = await post(list, {}, token);
    expect([status, json.code]).toEqual([401, "unauthenticated"]);
    expect(headers.get("www-authenticate")).toBe("Bearer");
    expect(json.message).toMatch(token ? /no caller's$/ : /is required/);
  }
  // Nothing is read for who may not: it is not said what is wrong with the message, either.
  expect((await post(list, "{", "me")).status).toBe(401);
  const refused = await chat("chat", "Hello", secret);
  expect([refused.status, await refused.text()]).toEqual([
    401,
    expect.stringContaining("is an administrator's: it opens no calls"),
  ]);
  expect(await reflected(url)).toEqual(
    expect.arrayContaining(["lintel.admin.v1.TokensService", "lintel.v1.ChatService"]),
  );
});

describe("auth.mode", () => {
  it.each(["public", "none"])("%s: an administrator's token opens no calls", async (mode) => {
    const { chat, post } = await administered(adminLines(), mode);
    expect((await chat("chat", "Hello", "me")).status).toBe(200);
    expect((await chat("chat", "Hello", secret)).status).toBe(401);
    expect((await post(list, {})).status).toBe(200);
  });
});

it("an administrator's token that has expired opens nothing", async () => {
  const line = (expires: string) =>
    `admin: { tokens: [{ name: ops, hash: "${hashToken(secret)}", expires: ${expires} }] }\n`;
  const { post, write, reload } = await administered(line("2001-01-31"));
  const { status, json } = await post(list, {});
  expect([status, json.message]).toEqual([
    401,
    "the bearer token expired at 2001-01-31T00:00:00.000Z",
  ]);
  write(line("2099-01-31"));
  await reload();
  expect((await post(list, {})).status).toBe(200);
});

it("an administrator's token opens nothing from elsewhere, and says nothing of what was asked", async () => {
  const { url, lines } = await administered(
    `trust_proxy: [127.0.0.1]
admin: { tokens: [{ name: ops, hash: "${hashToken(secret)}", from: [203.0.113.0/24] }] }
`,
  );
  const post = async (address: string, body: string) => {
    const { status, json } = await ask(`${url}/lintel.admin.v1.${list}`, address, body);
    return [status, json.code ?? "ok"];
  };
  expect(await post("203.0.113.7", "{}")).toEqual([200, "ok"]);
  expect(await post("198.51.100.1", "{}")).toEqual([403, "permission_denied"]);
  expect(await post("198.51.100.1", "{")).toEqual([403, "permission_denied"]);
  const grpc = createClient(TokensService, createGrpcTransport({ baseUrl: url })).listTokens(
    {},
    { headers: { authorization: `Bearer ${secret}`, "x-forwarded-for": "::1" } },
  );
  await expect(grpc).rejects.toMatchObject({ code: Code.PermissionDenied });
  const told = lines.filter(({ message }) => message === "admin call").map(({ fields }) => fields);
  expect(told).toMatchObject([
    { code: "ok", client: "203.0.113.7" },
    ...["198.51.100.1", "198.51.100.1", "::1"].map((client) => ({
      ...{ code: "address_not_allowed", client, cause: 'the token of "ops"' },
    })),
  ]);
});

async function ask(url: string, address: string, body: string) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${secret}`,
      "x-forwarded-for": address,
    },
    body,
  });
  // biome-ignore lint/suspicious/noExplicitAny: an answer, as a client looks at it
  return { status: response.status, json: (await response.json()) as any };
}

it("an administrator's token of another form opens no calls either", async () => {
  const token = "not-made-by-lintel";
  const line = `admin: { tokens: [{ name: ops, hash: "${hashToken(token)}" }] }\n`;
  const { chat, post } = await administered(line, "public");
  expect((await post(list, {}, token)).status).toBe(200);
  expect((await chat("chat", "Hello", token)).status).toBe(401);
});

describe("reload", () => {
  it("tokens of administrators apply at once; the last one goes with admin", async () => {
    const { post, write, reload, running } = await administered();
    const next = createToken();
    write(`admin: { tokens: [{ name: next, hash: "${hashToken(next)}" }] }\n`);
    await reload();
    expect((await post(list, {})).status).toBe(401);
    expect((await post(list, {}, next)).status).toBe(200);
    write("");
    await reload();
    expect((await post(list, {}, next)).status).toBe(401);
    expect(running.config.admin?.tokens).toEqual([]);
  });

  it("where it is served waits for a restart", async () => {
    const { url, post, write, reload, lines } = await administered();
    write(adminLines("  listen: 127.0.0.1:0\n"));
    await reload();
    expect((await post(list, {}, secret, url)).status).toBe(200);
    expect(lines.some(({ fields }) => String(fields.restart ?? fields.fields) === "admin")).toBe(
      true,
    );
  });
});

describe("admin.listen", () => {
  it("has administration and health, and nothing else; the other addresses have all but that", async () => {
    const { adminUrl, url, post } = await administered(adminLines("  listen: 127.0.0.1:0\n"));
    expect(adminUrl).not.toBe(url);
    expect((await post(list, {})).status).toBe(200);
    expect((await post(list, {}, secret, url)).status).toBe(404);
    expect((await reflected(url)).some((name) => name.includes("admin"))).toBe(false);
    expect((await reflected(adminUrl)).toSorted()).toEqual([
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "lintel.admin.v1.StatusService",
      "lintel.admin.v1.TokensService",
      "lintel.admin.v1.UsageService",
    ]);
    expect((await fetch(`${adminUrl}/healthz`)).status).toBe(200);
    expect((await fetch(`${adminUrl}/llm`, { method: "POST" })).status).toBe(404);
    const chat = await fetch(`${adminUrl}/lintel.v1.ChatService/Complete`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(chat.status).toBe(404);
    const preflight = await fetch(`${adminUrl}/lintel.admin.v1.TokensService/ListTokens`, {
      method: "OPTIONS",
      headers: { origin: "https://a.example", "access-control-request-method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
  });
});
