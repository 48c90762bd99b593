/** Connect's GET: methods without side effects, asked by an address. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, test } from "vitest";
import { AccountService } from "../../gen/lintel/v1/account_pb.js";
import { ModelsService } from "../../gen/lintel/v1/models_pb.js";
import { hashToken } from "../../src/core/tokens.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { type RpcServer, serveRpc } from "./rpc-server.js";

const tokens = [{ name: "alice", hash: hashToken("me") }];
const serve = () =>
  serveRpc([scripted({ chat: says("Hi") }, [chatModel("a"), chatModel("b")])], {
    core: { auth: { mode: "token", tokens } },
  });

const list = "/lintel.v1.ModelsService/ListModels";
const account = "/lintel.v1.AccountService/GetAccount";
const json = (message: unknown) =>
  `?connect=v1&encoding=json&message=${encodeURIComponent(JSON.stringify(message))}`;

async function ask(server: RpcServer, address: string, more: RequestInit = {}) {
  const headers = { authorization: "Bearer me", ...more.headers };
  const answer = await fetch(server.url + address, { ...more, headers });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text };
}

describe.each(["1.1", "2"] as const)("over HTTP %s", (httpVersion) => {
  test.each([true, false])("a client of Connect asks so, binary: %s", async (useBinaryFormat) => {
    const server = await serve();
    const transport = createConnectTransport({
      ...{ baseUrl: server.url, httpVersion, useBinaryFormat, useHttpGet: true },
    });
    const kept: (string | null)[] = [];
    const options = {
      headers: { authorization: "Bearer me" },
      // Which answers to a POST have none of.
      onHeader: (headers: Headers) => void kept.push(headers.get("cache-control")),
    };
    const { listModels } = createClient(ModelsService, transport);
    const all = await listModels({}, options);
    expect(all.models.map(({ id }) => id)).toEqual(["a", "b"]);
    const one = await listModels({ id: "b" }, options);
    expect(one.models.map(({ id }) => id)).toEqual(["b"]);
    const { getAccount } = createClient(AccountService, transport);
    expect((await getAccount({ user: "ü+/?&" }, options)).caller).toBe("alice");
    expect(kept).toEqual(["no-store", "no-store", "no-store"]);
  });
});

describe("by its address", () => {
  let server: RpcServer;
  beforeAll(async () => {
    server = await serveRpc(
      [scripted({ chat: says("Hi") }, [chatModel("a"), chatModel("b")])],
      { core: { auth: { mode: "token", tokens } } },
      () => {},
    );
    return () => server.close(0);
  });

  test("it is answered as a POST is, and no cache keeps it", async () => {
    const { status, headers, text } = await ask(server, list + json({ id: "a" }));
    expect([status, JSON.parse(text).models.length]).toEqual([200, 1]);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-request-id")).toBeTruthy();
    const posted = await ask(server, list, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"id":"a"}',
    });
    expect(posted.text).toBe(text);
    expect(posted.headers.get("cache-control")).toBeNull();
  });

  test.each([
    ["base64 for addresses", "eyJpZCI6ImIifQ"],
    ["base64", "eyJpZCI6ImIifQ=="],
  ])("a message in %s", async (_, message) => {
    const { text } = await ask(server, `${list}?encoding=json&base64=1&message=${message}`);
    expect(JSON.parse(text).models).toMatchObject([{ id: "b" }]);
  });

  test("a message that is packed", async () => {
    const packing = `${list}?encoding=json&compression=gzip&base64=1&message=`;
    const { gzipSync } = await import("node:zlib");
    const message = gzipSync('{"id":"b"}').toString("base64url");
    expect(JSON.parse((await ask(server, packing + message)).text).models).toMatchObject([
      { id: "b" },
    ]);
    expect((await ask(server, `${packing}H4sIAAAA`)).status).toBe(400);
    const other = await ask(server, `${list}?encoding=json&compression=br&base64=1&message=AA`);
    expect([other.status, JSON.parse(other.text).code]).toEqual([501, "unimplemented"]);
  });

  test.each([
    ["no message", "?encoding=json", "message: is required"],
    ["what is no base64", "?encoding=json&base64=1&message=%C3%A4", "message: must be base64"],
    ["what is no base64, binary", "?encoding=proto&base64=1&message=!", "message: must be base64"],
    ["what is no JSON", "?encoding=json&message={", "is not valid JSON"],
    ["a wrong field", json({ id: 1 }), "id: must be a string"],
  ])("%s is refused by its caller's fault", async (_, query, message) => {
    const { status, headers, text } = await ask(server, list + query);
    expect([status, JSON.parse(text).code]).toEqual([400, "invalid_argument"]);
    expect(JSON.parse(text).message).toContain(message);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test.each(["", "?message={}", "?encoding=connect%2Bjson&message={}", "?encoding=xml&message=a"])(
    "%j is in no form that there is",
    async (query) => {
      const { status, text } = await ask(server, list + query);
      expect(status).toBe(415);
      expect(JSON.parse(text).error).toMatchObject({
        code: "unsupported_media_type",
        message: "encoding of the address has to be json or proto",
      });
    },
  );

  test.each([list + json({}), `${list}?encoding=json&message={`, `${list}?encoding=xml`, account])(
    "%s: the token first",
    async (address) => {
      const query = address === account ? json({}) : "";
      for (const authorization of ["", "Bearer other"]) {
        const { status, headers, text } = await ask(server, address + query, {
          headers: { authorization },
        });
        expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
        expect(text).toMatch(/bearer token/);
        expect(headers.get("cache-control")).toBe("no-store");
      }
    },
  );

  test.each([
    "/lintel.v1.ChatService/Complete",
    "/lintel.v1.ChatService/CountTokens",
    "/lintel.v1.ChatService/Chat",
    "/grpc.health.v1.Health/Check",
  ])("%s takes POST alone", async (path) => {
    const { status, headers } = await ask(server, path + json({}));
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("another method of its path says which there are", async () => {
    const { status, headers } = await ask(server, list, { method: "PUT" });
    expect([status, headers.get("allow")]).toEqual([405, "GET, POST"]);
  });

  test("a page of another origin may ask so, and read what is refused", async () => {
    const origin = { origin: "https://page.example" };
    for (const authorization of ["Bearer me", "Bearer other"]) {
      const { headers } = await ask(server, list + json({}), {
        headers: { ...origin, authorization },
      });
      expect(headers.get("access-control-allow-origin")).toBe("*");
    }
    const preflight = await ask(server, list, {
      method: "OPTIONS",
      headers: { ...origin, "access-control-request-method": "GET" },
    });
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, POST, DELETE");
  });

  test("its deadline counts, and one that can't be read is refused", async () => {
    const late = await ask(server, list + json({}), { headers: { "connect-timeout-ms": "soon" } });
    expect([late.status, JSON.parse(late.text).message]).toEqual([
      400,
      expect.stringContaining("connect-timeout-ms"),
    ]);
  });

  test("what is refused is an error to a client of Connect", async () => {
    const transport = createConnectTransport({
      ...{ baseUrl: server.url, httpVersion: "1.1", useHttpGet: true },
    });
    const refused = await createClient(ModelsService, transport)
      .listModels({})
      .catch(ConnectError.from);
    expect(refused).toMatchObject({ code: Code.Unauthenticated });
  });
});
