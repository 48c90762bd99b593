/** Errors over REST. */
import { describe, expect, test } from "vitest";
import { breaksAfter, hangsAfter, says } from "../support/scripted.js";
import { codeIn, hello, json, jsonPaths, serveChat } from "./serve.js";

describe("errors", () => {
  test("422: one body for both families of clients, all fields at once", async () => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", {
      messages: [{ role: "king", content: 5 }],
      temperature: "0.7",
      top_p: 3,
      max_tokens: 1.5,
    });
    expect(response.status).toBe(422);
    const body = await json(response);
    expect(body.error).toMatchObject({ type: "invalid_request_error", code: "invalid_fields" });
    expect(body.detail).toEqual([
      { loc: ["body", "messages", 0, "role"], msg: expect.any(String), type: "value_error" },
      {
        loc: ["body", "messages", 0, "content"],
        msg: "must be a string, or an array of parts",
        type: "value_error",
      },
      { loc: ["body", "temperature"], msg: "must be a finite number", type: "value_error" },
      { loc: ["body", "max_tokens"], msg: "must be an integer", type: "value_error" },
      { loc: ["body", "top_p"], msg: expect.any(String), type: "value_error" },
    ]);
    for (const field of ["messages[0].content", "temperature", "max_tokens", "top_p"]) {
      expect(body.error.message).toContain(field);
    }
  });

  test.each(["/llm", "/v1/chat/completions", "/lintel.v1.ChatService/Complete"])(
    "faults stand in the order of the contract's fields: %s",
    async (path) => {
      const server = await serveChat(says("Hi"));
      const wrong = { stop: 5, top_k: -9, stream_options: 1, temperature: "x", messages: [] };
      const said = await (await server.post(path, wrong)).text();
      const all = [
        "messages: number of items must be at least 1",
        "temperature: must be a finite number",
        "top_k: must be at least -1",
        "stop: must be an array of strings, or a string",
      ];
      expect(said).toContain(`"message":"${all.join("; ")}`);
    },
  );

  const king = { role: "king", content: "x" };
  const five = { role: "user", content: 5 };
  const both = { role: "king", content: 5 };
  const at = (i: number, name: string) => `messages[${i}].${name}`;
  const upTo = (n: number, name: string) => Array.from({ length: n }, (_, i) => at(i, name));
  test.each([
    [
      "of a value and of a type",
      [king, five, king],
      [at(0, "role"), at(1, "content"), at(2, "role")],
    ],
    ["in one item", [both], [at(0, "role"), at(0, "content")]],
    [
      "of values, and behind them more of types",
      [...Array(10).fill(king), ...Array(10).fill(five)],
      [...upTo(8, "role"), "messages: the items from 8"],
    ],
    [
      "of types, and behind them more of values",
      [...Array(10).fill(five), ...Array(10).fill(king)],
      [...upTo(8, "content"), "messages: the items from 8"],
    ],
    [
      "of each some",
      [{}, ...Array(12).fill(five)],
      [at(0, "role"), ...upTo(8, "content").slice(1), "messages: the items from 8"],
    ],
    [
      "of both kinds in each",
      Array(6).fill(both),
      [
        ...[0, 1, 2, 3].flatMap((i) => [at(i, "role"), at(i, "content")]),
        "messages: the items from 4",
      ],
    ],
  ])(
    "a list's faults stand in the order of its items, and end after eight: %s",
    async (_, messages, all) => {
      const server = await serveChat(says("Hi"));
      for (const path of ["/llm", "/v1/chat/completions"]) {
        const { detail } = await json(await server.post(path, { messages }));
        const said = detail.map(
          ({ loc: [, name, i, more], msg }: { loc: string[]; msg: string }) =>
            i === undefined ? `${name}: ${msg.slice(0, 16)}` : `${name}[${i}].${more}`,
        );
        expect(said).toEqual(all);
      }
    },
  );

  test.each(["/llm", "/v1/chat/completions", "/lintel.v1.ChatService/Complete"])(
    "of a part that can't be read nothing else is said: %s",
    async (path) => {
      const server = await serveChat(says("Hi"));
      const content = [
        { type: "text", text: 5 },
        { type: 5 },
        { type: "image_url", image_url: { url: 5 } },
        { type: "image_url", image_url: 5 },
        { type: "file", file: { file_data: 5 } },
        { type: "input_audio", input_audio: { data: 5, format: 5 } },
      ];
      const asked = { messages: [{ role: "user", content }], tool_choice: 5 };
      const said = await (await server.post(path, asked)).text();
      const all = [
        "messages[0].content[0].text: must be a string",
        "messages[0].content[1].type: must be a string",
        "messages[0].content[2].image_url.url: must be a string",
        "messages[0].content[3].image_url: must be a string, or an object",
        "messages[0].content[4].file.file_data: must be a string",
        "messages[0].content[5].input_audio.data: must be a string",
        "messages[0].content[5].input_audio.format: must be a string",
        "tool_choice: must be a string, or an object",
      ];
      expect(said).toContain(`"message":"${all.join("; ")}"`);
    },
  );

  test.each(["/llm", "/v1/chat/completions", "/v1/messages", "/lintel.v1.ChatService/Complete"])(
    "parts that are not looked at are told of as such, and the messages behind them: %s",
    async (path) => {
      const server = await serveChat(says("Hi"));
      const parts = (length: number) => Array.from({ length }, () => ({ type: "text", text: 5 }));
      const messagesOf = async (...messages: object[]) =>
        await (await server.post(path, { max_tokens: 9, messages })).text();
      const wrong = { role: "user", content: parts(20) };
      const first = [...parts(8).keys()].map(
        (i) => `messages[0].content[${i}].text: must be a string`,
      );
      const cut = "messages[0].content: the items from 8 on were not checked";
      expect(await messagesOf(wrong)).toContain(`"message":"${[...first, cut].join("; ")}"`);
      const rest = "messages: the items from 1 on were not checked";
      expect(await messagesOf(wrong, wrong)).toContain(`"${[...first, cut, rest].join("; ")}"`);
    },
  );

  test("a field that OpenAI calls otherwise has the contract's place", async () => {
    const server = await serveChat(says("Hi"));
    const asked = { ...hello({ max_completion_tokens: "x" }), top_p: "x", messages: [{}] };
    const { error } = await json(await server.post("/v1/chat/completions", asked));
    expect(error).toMatchObject({ param: "messages[0].role" });
    expect(error.message).toMatch(/max_completion_tokens: .*; top_p: /);
  });

  test("422: a list that is too long and has an item of the wrong type has both faults", async () => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", hello({ stop: [1, "a", "", "c", "d"] }));
    expect((await json(response)).detail).toEqual([
      { loc: ["body", "stop"], msg: "number of items must be from 0 to 4", type: "value_error" },
      { loc: ["body", "stop", 0], msg: "must be a string", type: "value_error" },
      { loc: ["body", "stop", 2], msg: "must not be empty", type: "value_error" },
    ]);
  });

  test("all but 422: error and detail.msg", async () => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", hello({ model: "none" }));
    expect(response.status).toBe(404);
    const { error, detail } = await json(response);
    expect(error).toEqual({
      message: expect.stringContaining("none"),
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found",
    });
    expect(detail).toEqual({ msg: error.message });
  });

  test("401 with WWW-Authenticate, before anything about the body", async () => {
    const server = await serveChat(says("Hi"));
    for (const body of ["{", "", hello(), { messages: 5 }]) {
      const response = await server.post("/llm", body, { authorization: "" });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  test.each([
    ["broken JSON", '{"messages":'],
    ["an empty body", ""],
    ["an array", "[]"],
    ["null", "null"],
    ["a string", '"x"'],
    ["a number", "1e400"],
    ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["an unclosed nest", "[".repeat(100_000)],
  ])("400: the body is %s", async (_what, body) => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", body);
    expect(response.status).toBe(400);
    expect((await json(response)).error.code).toBe("invalid_json");
    expect((await server.post("/llm", hello())).status).toBe(200);
  });

  test.each([
    ["another type", { "content-type": "text/plain" }, 415],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["another charset", { "content-type": "application/json; charset=latin1" }, 415],
    ["no valid type", { "content-type": "json" }, 415],
    ["a compressed body", { "content-encoding": "gzip" }, 415],
    ["no compression, said aloud", { "content-encoding": "Identity" }, 200],
    ["utf-8 said aloud", { "content-type": 'Application/JSON; charset="UTF-8"' }, 200],
  ])("415: media type: %s", async (_what, headers, status) => {
    const server = await serveChat(says("Hi"));
    const response = await server.post("/llm", hello(), headers as Record<string, string>);
    expect(response.status).toBe(status);
    expect(response.headers.get("x-request-id")).toBeTruthy();
    if (status === 415) expect((await json(response)).error.code).toBe("unsupported_media_type");
  });

  test.each(jsonPaths)("%s: who calls is asked before the type is", async (path) => {
    const server = await serveChat(says("Hi"));
    for (const type of ["application/json", "text/plain", "json", undefined]) {
      for (const body of ["x", undefined]) {
        const headers = new Headers(type === undefined ? [] : [["content-type", type]]);
        const bytes = body && Buffer.from(body);
        const answer = await fetch(server.url + path, { method: "POST", headers, body: bytes });
        expect([type, body, answer.status]).toEqual([type, body, 401]);
        expect(answer.headers.get("www-authenticate")).toBe("Bearer");
        expect(codeIn(await json(answer))).toBe("invalid_token");
      }
    }
  });

  test("415: no type at all", async () => {
    const server = await serveChat(says("Hi"));
    const headers = { authorization: "Bearer me" };
    const without = await fetch(`${server.url}/llm`, { method: "POST", headers });
    expect(without.status).toBe(415);
    const body = Buffer.from(JSON.stringify(hello()));
    const response = await fetch(`${server.url}/llm`, { method: "POST", headers, body });
    expect(response.status).toBe(415);
  });

  test("a fault of our own shows nothing of itself", async () => {
    const server = await serveChat(breaksAfter(new Error("secret at /etc/passwd")));
    const response = await server.post("/llm", hello());
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch(/secret|passwd|at /);
  });

  test("x-request-id: the caller's, or a new one", async () => {
    const server = await serveChat(says("Hi"));
    for (const stream of [true, false]) {
      const own = await server.post("/llm", hello({ stream }), { "x-request-id": "my-id.1" });
      expect(own.headers.get("x-request-id")).toBe("my-id.1");
      const bad = await server.post("/llm", hello({ stream }), { "x-request-id": "a b" });
      expect(bad.headers.get("x-request-id")).not.toBe("a b");
      await Promise.all([own.text(), bad.text()]);
    }
  });

  test("x-request-timeout-ms is the call's deadline", async () => {
    const { handle, aborted } = hangsAfter();
    const server = await serveChat(handle);
    const late = await server.post("/llm", hello(), { "x-request-timeout-ms": "20" });
    expect(late.status).toBe(504);
    await aborted;
    const wrong = await server.post("/llm", hello(), { "x-request-timeout-ms": "soon" });
    expect(wrong.status).toBe(400);
    expect((await json(wrong)).error.param).toBe("x-request-timeout-ms");
  });

  test.each([
    ["1", 504],
    ["0", 400],
    ["-1", 400],
    ["1.5", 400],
    ["2147483648", 400],
  ])("x-request-timeout-ms: %s", async (ms, status) => {
    const server = await serveChat(hangsAfter().handle);
    const answer = await server.post("/llm", hello(), { "x-request-timeout-ms": ms });
    expect(answer.status).toBe(status);
    if (status === 400) {
      const allowed = "must be a whole number of milliseconds, from 1 to 2147483647";
      expect((await json(answer)).error.message).toBe(`x-request-timeout-ms: ${allowed}`);
    }
  });

  test("x-request-timeout-ms may be as long as timers can be", async () => {
    const server = await serveChat(says("Hi"));
    const answer = await server.post("/llm", hello(), { "x-request-timeout-ms": "2147483647" });
    expect(answer.status).toBe(200);
  });

  test("any number of blanks may stand ahead of the token, and the scheme in any letters", async () => {
    const server = await serveChat(says("Hi"));
    for (const authorization of ["Bearer   me", "bEARER me"]) {
      expect((await server.post("/llm", hello(), { authorization })).status).toBe(200);
    }
  });
});
