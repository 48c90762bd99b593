import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Logger } from "../../src/core/log.js";
import { mountRpc } from "../../src/doors/rpc/rpc.js";
import { createApp } from "../../src/server/app.js";
import { Paths } from "../../src/server/paths.js";
import { ended, http1, http2, serve, session, tcp } from "./serve.js";

async function app(settings: Parameters<typeof createApp>[0] = {}) {
  const instance = await createApp(settings);
  onTestFinished(() => instance.close());
  instance.get("/hello", () => "hello");
  instance.post("/media/:name", (request) => request.body);
  instance.get("/media/:name", () => "image");
  instance.get("/broken", () => {
    throw new Error("secret");
  });
  return instance;
}

it("tells of a path of several doors in no door's own form", () => {
  const form = () => ({});
  for (const forms of [
    [form, undefined],
    [undefined, form],
  ]) {
    const paths = new Paths();
    for (const [i, one] of forms.entries()) paths.add("/a", ["GET", "POST"][i] ?? "", one);
    paths.add("/b", "GET", form);
    expect([paths.formOf("/a"), paths.formOf("/b")]).toEqual([undefined, form]);
  }
});

describe("the app", () => {
  it("fails to be made where a plugin throws, instead of ending the process", async () => {
    const made = mountRpc(await app(), 5 * 2 ** 30, { log: {} as Logger }, () => {});
    await expect(made).rejects.toThrow("readMaxBytes");
  });

  it("says 404, 405 with Allow, and 400 in the contract's words", async () => {
    const a = await app();
    const answers = await Promise.all([
      a.inject({ url: "/nope" }),
      a.inject({ url: "/hello", method: "PUT" }),
      a.inject({ url: "/media/x.png?y", method: "DELETE" }),
      a.inject({ url: "/%zz" }),
      a.inject({ url: "/broken" }),
    ]);
    expect(answers.map((r) => [r.statusCode, r.json().error.code, r.headers.allow])).toEqual([
      [404, "not_found", undefined],
      [405, "method_not_allowed", "GET, HEAD"],
      [405, "method_not_allowed", "GET, HEAD, POST"],
      [400, "invalid_value", undefined],
      [500, "internal", undefined],
    ]);
    for (const answer of answers) {
      expect(answer.headers["x-request-id"]).toMatch(/^[\w-]{16}$/);
      expect(answer.body).not.toContain("secret");
    }
  });

  it.each(["application/json", "text/plain", "application/xml"])(
    "says 404 and 405 whatever the body, of type %s",
    async (type) => {
      const a = await app({ bodyLimit: 10 });
      for (const payload of ["{", "x".repeat(11)]) {
        const asked = { headers: { "content-type": type }, payload };
        const answers = await Promise.all([
          a.inject({ url: "/nope", method: "POST", ...asked }),
          a.inject({ url: "/hello", method: "PUT", ...asked }),
        ]);
        expect(answers.map((r) => [r.statusCode, r.json().error.code, r.headers.allow])).toEqual([
          [404, "not_found", undefined],
          [405, "method_not_allowed", "GET, HEAD"],
        ]);
      }
    },
  );

  it("names what was asked for, and what there is like it", async () => {
    const a = await app();
    a.get("/v1/models", () => "");
    a.post("/v1/chat/completions", () => "");
    const said = async (url: string, method: "GET" | "POST" = "POST") =>
      (await a.inject({ url, method })).json().error.message;
    const both = "GET /v1/models and POST /v1/chat/completions";
    expect(await said("/v1/responses?key=x")).toBe(
      `there is no POST /v1/responses here, but ${both}`,
    );
    expect(await said("/v1/v1/models", "GET")).toBe(
      `there is no GET /v1/v1/models here, but ${both}`,
    );
    const one = "here, but POST /v1/chat/completions";
    expect(await said("/chat/completions")).toBe(`there is no POST /chat/completions ${one}`);
    expect(await said("/completions")).toBe(`there is no POST /completions ${one}`);
    const behind = "/openai/v1/chat/completions";
    expect(await said(behind)).toBe(`there is no POST ${behind} ${one}`);
    const azure = "/openai/deployments/gpt/chat/completions";
    expect(await said(`${azure}?api-version=2024-10-21`)).toBe(`there is no POST ${azure} ${one}`);
  });

  it("names what there is, where nothing is like what was asked for", async () => {
    const a = await app();
    a.get("/healthz", () => "");
    a.post("/text-to-image", () => "");
    a.post("/lintel.v1.ChatService/Chat", () => "");
    const said = async (url: string, method: "GET" | "POST" = "POST") =>
      (await a.inject({ url, method })).json().error.message;
    const all = "GET /broken, GET /healthz, GET /hello and POST /text-to-image";
    expect(await said("/", "GET")).toBe(`there is no GET / here, but ${all}`);
    const long = `there is no POST /${"a".repeat(99)}… here, but ${all}`;
    expect(await said(`/${"a".repeat(1000)}`)).toBe(long);
    const image = "here, but POST /text-to-image";
    expect(await said("/text_to_image")).toBe(`there is no POST /text_to_image ${image}`);
    expect(await said("/Text-To-Image")).toBe(`there is no POST /Text-To-Image ${image}`);
    expect(await said("/health", "GET")).toBe("there is no GET /health here, but GET /healthz");
    const rpc = "here, but POST /lintel.v1.ChatService/Chat";
    expect(await said("/lintel.v1.Chat/Chat")).toBe(`there is no POST /lintel.v1.Chat/Chat ${rpc}`);
    const v2 = "/lintel.v2.ChatService/Chat";
    expect(await said(v2)).toBe(`there is no POST ${v2} ${rpc}`);
    expect(await said("/other.v1.A/B")).toBe("there is no POST /other.v1.A/B here");
    // Ollama's.
    expect(await said("/api/generate")).toBe(`there is no POST /api/generate here, but ${all}`);
  });

  it("takes over a request id that can stand in a header, and no other", async () => {
    const a = await app();
    const of = async (id: string) =>
      (await a.inject({ url: "/hello", headers: { "x-request-id": id } })).headers["x-request-id"];
    expect(await of("a.b:c-1_2")).toBe("a.b:c-1_2");
    expect(await of("x".repeat(129))).toMatch(/^[\w-]{16}$/);
    expect(await of("with blank")).toMatch(/^[\w-]{16}$/);
  });

  it("holds bodies to the limit", async () => {
    const a = await app({ bodyLimit: 10 });
    const payload = { payload: "x".repeat(11), headers: { "content-type": "text/plain" } };
    const answer = await a.inject({ url: "/media/x", method: "POST", ...payload });
    expect([answer.statusCode, answer.json().error.code]).toEqual([413, "too_large"]);
  });

  it("lets browsers in from everywhere, also over gRPC-Web and Connect", async () => {
    const a = await app();
    const asked =
      "authorization,connect-protocol-version,connect-timeout-ms,x-grpc-web,x-user-agent,grpc-timeout";
    const preflight = await a.inject({
      url: "/lintel.v1.ChatService/Chat",
      method: "OPTIONS",
      headers: {
        origin: "https://page.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": asked,
      },
    });
    expect(preflight.statusCode).toBe(204);
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-headers": asked,
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-max-age": "7200",
    });
    const answer = await a.inject({ url: "/hello", headers: { origin: "https://page.example" } });
    const exposed = String(answer.headers["access-control-expose-headers"]).toLowerCase();
    const own = ["x-request-id", "request-id", "x-lintel-warnings", "allow", "www-authenticate"];
    const again = ["retry-after", "retry-after-ms", "x-should-retry"];
    const all = [...own, ...again, "grpc-status", "grpc-message"];
    expect(exposed.split(", ")).toEqual(expect.arrayContaining(all));
  });

  it("says nothing of pages to who posts and is none; what may be kept for one says it", async () => {
    const told = async (
      corsOrigins: "*" | readonly string[],
      method: "GET" | "POST",
      from = {},
    ) => {
      const a = await app({ corsOrigins });
      const sent = method === "POST" ? { payload: {} } : {};
      const { headers } = await a.inject({ url: "/media/x", method, headers: from, ...sent });
      return [headers["access-control-allow-origin"], headers.vary];
    };
    const origin = "https://a.example";
    expect(await told("*", "POST")).toEqual([undefined, undefined]);
    expect(await told("*", "POST", { origin })).toEqual(["*", undefined]);
    expect(await told("*", "GET")).toEqual(["*", undefined]);
    expect(await told([origin], "POST")).toEqual([undefined, undefined]);
    expect(await told([origin], "POST", { origin })).toEqual([origin, "Origin"]);
    expect(await told([origin], "GET")).toEqual([undefined, "Origin"]);
  });

  it("OPTIONS that asks for no method is no preflight: no path takes it", async () => {
    const a = await app({ corsOrigins: "*" });
    const origin = "https://page.example";
    const said = async (url: string, headers = {}) => {
      const answer = await a.inject({ url, method: "OPTIONS", headers: { origin, ...headers } });
      return [answer.statusCode, answer.headers.allow];
    };
    expect(await said("/hello")).toEqual([405, "GET, HEAD"]);
    expect(await said("/nope")).toEqual([404, undefined]);
    const asks = { "access-control-request-method": "POST" };
    expect(await said("/hello", asks)).toEqual([204, undefined]);
    // One whose page a proxy has taken away is a preflight all the same.
    expect((await a.inject({ url: "/hello", method: "OPTIONS", headers: asks })).statusCode).toBe(
      204,
    );
  });

  it("says of answers outside of it, too, whose pages may read them, and that others may not", async () => {
    const { corsHeaders } = await app({ corsOrigins: ["https://a.example"] });
    const vary = { vary: "Origin" };
    expect(corsHeaders?.("https://a.example")).toMatchObject({
      ...vary,
      "access-control-allow-origin": "https://a.example",
    });
    // What a cache kept for one is nothing for the other.
    expect(corsHeaders?.("https://b.example")).toEqual(vary);
    expect(corsHeaders?.(undefined)).toEqual({});
  });

  it.each([
    ["/%zz", 400],
    ["/media/%zz?x", 400],
    [`/media/${"x".repeat(101)}`, 404],
  ])("pages may ask, and read the answer, for a path that can't be: %s", async (url, status) => {
    const a = await app({ corsOrigins: ["https://a.example"] });
    const headers = { origin: "https://a.example", "access-control-request-method": "POST" };
    const first = await a.inject({ url, method: "OPTIONS", headers });
    expect([first.statusCode, first.headers["access-control-allow-origin"]]).toEqual([
      204,
      headers.origin,
    ]);
    for (const method of ["GET", "POST"] as const) {
      const { headers: said, ...answer } = await a.inject({ url, method, headers });
      expect([answer.statusCode, answer.json().error.message]).toEqual([
        status,
        "the path is not valid",
      ]);
      expect(said["access-control-allow-origin"]).toBe(headers.origin);
      expect(said["access-control-expose-headers"]).toContain("x-request-id");
    }
  });

  it("says over HTTP/2, too, that a path is not valid", async () => {
    const client = session((await serve({}, { corsOrigins: "*" })).url);
    const stream = client.request({ ":path": "/%zz", origin: "https://a.example" });
    const [headers] = await once(stream, "response");
    expect([headers[":status"], headers["access-control-allow-origin"]]).toEqual([400, "*"]);
  });

  it("lets browsers in from the configured origins only, or not at all", async () => {
    const allowed = async (corsOrigins: readonly string[] | false, origin: string) =>
      (await (await app({ corsOrigins })).inject({ url: "/hello", headers: { origin } })).headers[
        "access-control-allow-origin"
      ];
    expect(await allowed(["https://a.example"], "https://a.example")).toBe("https://a.example");
    expect(await allowed(["https://a.example"], "https://b.example")).toBeUndefined();
    expect(await allowed(false, "https://a.example")).toBeUndefined();
  });
});

it("paths", () => {
  const paths = new Paths();
  paths.add("/a", "GET");
  paths.add("/a", ["POST"]);
  paths.add("/b/:x/c", "GET");
  paths.add("/d/*", "PUT");
  paths.add("*", "OPTIONS");
  paths.add("/f.g/:x", "GET");
  expect(paths.methodsOf("/fog/1")).toEqual([]);
  expect(["/a", "/b/1/c", "/b/1/2/c", "/d/e/f", "/z"].map((p) => paths.methodsOf(p))).toEqual([
    ["GET", "POST"],
    ["GET"],
    [],
    ["PUT"],
    [],
  ]);
});

it("the form of a path's errors", () => {
  const paths = new Paths();
  const [form, other] = [() => ({}), () => ({})];
  paths.add("/a", "POST", form);
  paths.add("/a/*", [], other);
  paths.add("/a/b", "POST", form);
  paths.add("/c/*", "GET");
  paths.add("/c/*", "POST", form);
  paths.add("/c/*", "HEAD", form);
  expect(["/a", "/a/b", "/a/c", "/c/d", "/z"].map((p) => paths.formOf(p))).toEqual([
    form,
    form,
    other,
    undefined,
    undefined,
  ]);
  expect(paths.methodsOf("/a/c")).toEqual([]);
});

describe("gRPC is told by a status that there is nothing at a path", () => {
  const origin = "https://a.example";
  const asked = (type: string) => ({ "content-type": type, origin, "x-request-id": "mine-1" });
  const said = {
    "x-request-id": "mine-1",
    "access-control-allow-origin": "*",
    "grpc-status": "12",
    "grpc-message": expect.stringMatching(/^there is no POST \/nope here/),
  };

  it.each(["application/grpc", "Application/GRPC+proto", "application/grpc-web+proto"])(
    "over HTTP/2, of %s",
    async (type) => {
      const client = session((await serve({}, { corsOrigins: "*" })).url);
      const path = { ":method": "POST", ":path": "/nope" };
      const { status, headers, body } = await http2(client, { ...path, ...asked(type) });
      expect([status, headers, body]).toMatchObject([200, { ...said, "content-type": type }, ""]);
    },
  );

  it("over HTTP/1, in the trailers, and for gRPC-Web in the headers", async () => {
    const { port } = await serve({}, { corsOrigins: "*" });
    const ask = async (type: string) => {
      const socket = tcp(port);
      const text = ended(socket);
      const headers = Object.entries(asked(type)).map((header) => header.join(": "));
      const head = ["POST /nope HTTP/1.1", "host: a", "connection: close", ...headers];
      socket.write(`${head.join("\r\n")}\r\ncontent-length: 0\r\n\r\n`);
      return (await text).split("\r\n\r\n");
    };
    const [head, trailers] = await ask("application/grpc");
    expect(head).toMatch(/^HTTP\/1.1 200 .*^x-request-id: mine-1\r$/ms);
    expect(trailers).toMatch(/^0\r\n.*^grpc-status: 12\r$/ms);
    const [web] = await ask("application/grpc-web+proto");
    expect(web).toMatch(/^HTTP\/1.1 200 .*^access-control-allow-origin: \*\r$/ms);
    expect(web).toMatch(/^grpc-status: 12\r$/m);
  });

  it("and nobody else", async () => {
    const { url } = await serve();
    const answer = await fetch(`${url}/nope`, {
      method: "POST",
      headers: { "content-type": "application/grpcs" },
    });
    expect([answer.status, answer.headers.get("grpc-status")]).toEqual([404, null]);
  });
});

it("a path is known in the absolute form, too", async () => {
  const { port } = await serve();
  const answer = await http1({ port, path: "http://a.example/echo?x", method: "GET" });
  expect(answer).toMatchObject({ status: 405, headers: { allow: "POST" } });
  const root = await http1({ port, path: "http://a.example" });
  expect([root.status, JSON.parse(root.body).error.message]).toEqual([
    404,
    expect.stringMatching(/^there is no GET \/ here, /),
  ]);
});

it("a method that HTTP/1 does not know is none of a path's", async () => {
  const client = session((await serve()).url);
  const ask = (path: string) => http2(client, { ":method": "FOO", ":path": path });
  expect(await ask("/echo")).toMatchObject({ status: 405, headers: { allow: "POST" } });
  expect(await ask("/nothing")).toMatchObject({ status: 404 });
});

describe("a client that takes it for a proxy", () => {
  const refused = {
    error: { message: "this is no proxy: it does not take CONNECT", code: "method_not_allowed" },
  };

  it("is told so over HTTP/1", async () => {
    const socket = tcp((await serve()).port);
    socket.write(
      "CONNECT a.example:443 HTTP/1.1\r\nhost: a.example:443\r\nx-request-id: mine\r\n\r\n",
    );
    const [head = "", body = ""] = (await ended(socket)).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
    expect(head).toContain("\r\nx-request-id: mine\r\nallow: GET, HEAD, POST\r\n");
    expect(JSON.parse(body)).toMatchObject(refused);
  });

  it("does not get this in the place of another answer", async () => {
    const { port, holding } = await serve();
    const socket = tcp(port);
    socket.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n");
    await holding(1);
    socket.write("CONNECT a.example:443 HTTP/1.1\r\nhost: a.example:443\r\n\r\n");
    expect(await ended(socket)).not.toContain("405");
  });

  it("is told so over HTTP/2", async () => {
    const client = session((await serve()).url);
    const asked = { ":method": "CONNECT", ":authority": "a.example:443", "x-request-id": "mine" };
    const answer = await http2(client, asked);
    expect(answer).toMatchObject({
      status: 405,
      headers: { "x-request-id": "mine", allow: "GET, HEAD, POST" },
    });
    expect(JSON.parse(answer.body)).toMatchObject(refused);
  });
});

it("a client that sends too much gets its answer, and keeps its connection", async () => {
  const { port } = await serve();
  const body = Buffer.alloc(2 * 1024 * 1024);
  const socket = tcp(port);
  const head = `host: a\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}`;
  socket.write(`POST /echo HTTP/1.1\r\n${head}\r\n\r\n`);
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
  socket.write(body);
  socket.write("GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  expect(await ended(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*hello$/s);
});
