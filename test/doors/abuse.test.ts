import { once } from "node:events";
import { connect } from "node:http2";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { hangsAfter, paints, piece, says, scripted } from "../support/scripted.js";
import { eventsOf, hello, json, serve, serveChat } from "./serve.js";

const backend = () => scripted({ chat: says("Hi"), streamTextToImage: paints() });
const paths = ["/llm", "/text-to-image", "/v1/chat/completions", "/v1/images/generations"];

describe("bad input gets the right error, and the next call is served", () => {
  test.each(paths)("%s: a body over the limit is a 413 that is not read", async (path) => {
    const server = await serve(backend());
    const size = 100 * 1024 * 1024;
    const socket = server.socket(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer me\r\ncontent-type: application/json\r\ncontent-length: ${size}\r\n\r\n{`,
    );
    // Of 100 MB announced one byte was sent: the answer does not wait for the rest.
    const [data] = await once(socket, "data");
    expect(String(data)).toMatch(/^HTTP\/1\.1 413 /);
    expect(String(data)).toMatch(/"code":"too_large"/);
  });

  test("a body that says no length is cut off at the limit", async () => {
    const server = await serve(backend(), { doors: { bodyLimit: 64 * 1024 } });
    const socket = server.socket(
      "POST /llm HTTP/1.1\r\nhost: x\r\nauthorization: Bearer me\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    socket.on("error", () => {});
    const chunk = `4000\r\n${" ".repeat(0x4000)}\r\n`;
    let sent = 0;
    const timer = setInterval(() => {
      if (socket.writable) socket.write(chunk);
      sent++;
    }, 1);
    const [data] = await once(socket, "data");
    clearInterval(timer);
    expect(String(data)).toMatch(/^HTTP\/1\.1 413 /);
    expect(sent).toBeGreaterThan(3);
  });

  test.each(paths)("%s: nests 100,000 deep", async (path) => {
    const server = await serve(backend());
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    for (const field of ["messages", "prompt", "stream", "tools"]) {
      const wrong = await server.post(path, `{"${field}":${deep}}`);
      expect([400, 422]).toContain(wrong.status);
      await wrong.text();
    }
    const ignored = await server.post(
      path,
      `{"messages":[{"role":"user","content":"x"}],"prompt":"x","unknown":${deep}}`,
    );
    expect(ignored.status).toBe(200);
  });

  test.each(paths)("%s: numbers that no number holds", async (path) => {
    const server = await serve(backend());
    const response = await server.post(
      path,
      '{"messages":[{"role":"user","content":"x"}],"prompt":"x","seed":1e400,"temperature":1e400,"guidance_scale":-1e999}',
    );
    expect(response.status).toBe(422);
    const fields = (await json(response)).detail.map((d: { loc: string[] }) => d.loc[1]);
    expect(fields).toContain("seed");
  });

  test.each(paths)("%s: `__proto__` keys are unknown fields", async (path) => {
    const server = await serve(backend());
    const response = await server.post(
      path,
      '{"__proto__":{"messages":[{"role":"user","content":"x"}],"prompt":"x","model":"evil"}}',
    );
    expect(response.status).toBe(422);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test.each(paths)("%s: wrong types everywhere", async (path) => {
    const server = await serve(backend());
    for (const value of [true, 5, "x", [], [null], {}, { a: [] }, [[]], -1e308]) {
      const names = [
        "messages",
        "model",
        "temperature",
        "max_tokens",
        "top_p",
        "top_k",
        "stream",
        "stream_options",
        "stop",
        "seed",
        "model_id",
        "prompt",
        "height",
        "width",
        "guidance_scale",
        "negative_prompt",
        "safety_check",
        "num_inference_steps",
        "num_images_per_prompt",
        "n",
        "size",
        "response_format",
        "max_completion_tokens",
        "tools",
        "logprobs",
        "top_logprobs",
        "frequency_penalty",
        "min_p",
        "verbosity",
        "service_tier",
        "logit_bias",
      ];
      const response = await server.post(path, Object.fromEntries(names.map((n) => [n, value])));
      expect(response.status).toBe(422);
      await response.text();
    }
  });

  test.each(["/llm", "/v1/chat/completions"])(
    "%s: of lists full of mistakes the first are named, and every other field",
    async (path) => {
      const server = await serve(backend());
      const items = (count: number, item: string) => `[${Array(count).fill(item).join(",")}]`;
      for (const [item, at] of [
        ["1", ""],
        ['{"role":"king"}', ".role"],
      ]) {
        const lists = `"messages":${items(9_000, item ?? "")},"stop":${items(10_000, "1")}`;
        const response = await server.post(path, `{${lists},"top_k":"x"}`);
        expect(response.status).toBe(422);
        const { error, detail } = await json(response);
        const first = (name: string, more = "") =>
          [0, 1, 2, 3, 4, 5, 6, 7].map((i) => `${name}[${i}]${more}`);
        const named = detail.map(({ loc: [, name, i, more] }: { loc: (string | number)[] }) =>
          [name, ...(i === undefined ? [] : [`[${i}]`]), ...(more ? [`.${more}`] : [])].join(""),
        );
        expect(named.sort()).toEqual(
          [...first("messages", at), "messages", ...first("stop"), "stop", "top_k"].sort(),
        );
        expect(detail).toContainEqual({
          loc: ["body", "messages"],
          msg: "the items from 8 on were not checked",
          type: "value_error",
        });
        expect(error.message).toMatch(/; and \d more$/);
        expect(error.message.length).toBeLessThan(1000);
      }
    },
  );

  test.each(paths)("%s: a body that breaks off leaves nothing behind", async (path) => {
    const server = await serve(backend());
    const socket = server.socket(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"mess`,
    );
    await once(socket, "connect");
    socket.destroy();
    const next = await server.post(path, hello({ prompt: "x" }));
    expect(next.status).toBe(200);
    await next.text();
  });

  test.each(paths)("%s: 405 with Allow", async (path) => {
    const server = await serve(backend());
    const response = await server.get(path);
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
    expect((await json(response)).error.code).toBe("method_not_allowed");
  });
});

describe("HTTP/2", () => {
  async function session(chat: Handle<"chat"> = says("Hi", " there")) {
    const server = await serveChat(chat);
    const client = connect(server.url);
    onTestFinished(() => client.destroy());
    const post = (body: string) => {
      const request = client.request({
        ":method": "POST",
        ":path": "/llm",
        authorization: "Bearer me",
        "content-type": "application/json",
      });
      request.setEncoding("utf8");
      request.end(body);
      return request;
    };
    return { client, post };
  }

  test("streams have no header that HTTP/2 forbids", async () => {
    const { post } = await session();
    const request = post(JSON.stringify(hello({ stream: true })));
    const [headers] = await once(request, "response");
    expect(headers).toMatchObject({
      ":status": 200,
      "content-type": "text/event-stream; charset=utf-8",
    });
    expect(headers).not.toHaveProperty("connection");
    expect(headers).not.toHaveProperty("transfer-encoding");
    expect(eventsOf((await request.toArray()).join("")).at(-1)).toBe("[DONE]");
  });

  test("a client that does not read stops the iteration", async () => {
    let pulled = 0;
    const text = "x".repeat(64 * 1024);
    const { post } = await session(async function* () {
      for (; pulled < 500; pulled++) {
        await new Promise(setImmediate);
        yield [piece(text)];
      }
      yield [piece("", "stop", [1, 1])];
    });
    const request = post(JSON.stringify(hello({ stream: true })));
    await once(request, "response");
    let last = -1;
    await vi.waitFor(
      () => {
        const before = last;
        last = pulled;
        expect(before).toBe(pulled);
      },
      { interval: 100 },
    );
    expect(pulled).toBeLessThan(100);
    request.resume();
    await once(request, "end");
    expect(pulled).toBe(500);
  });

  test("errors and a body over the limit leave the connection usable", async () => {
    const { post } = await session();
    for (const [body, status] of [
      ["{", 400],
      [`{"messages":"${"x".repeat(1024 * 1024)}"}`, 413],
      [JSON.stringify(hello()), 200],
    ] as const) {
      const request = post(body);
      request.on("error", () => {});
      const [headers] = await once(request, "response");
      expect(headers[":status"]).toBe(status);
      request.resume();
    }
  });

  test.each([true, false])("a client that leaves aborts the call, stream: %s", async (stream) => {
    const { handle, aborted } = hangsAfter("Hi");
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { post } = await session((call) => {
      open();
      return handle(call);
    });
    const request = post(JSON.stringify(hello({ stream })));
    await opened;
    if (stream) await once(request, "data");
    request.close();
    await aborted;
  });
});
