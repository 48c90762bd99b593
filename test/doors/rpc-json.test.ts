/** JSON over the RPC protocols is read, and refused, as over REST. */
import { gzipSync } from "node:zlib";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { piece } from "../support/scripted.js";
import { ask, jsonWires, type Told } from "./json-wires.js";
import { hello, json, serveChat } from "./serve.js";

/** Answers with the request, as it came; with `max_tokens` of 1 never. */
const echo: Handle<"chat"> = async function* ({ request, signal }) {
  if (request.maxTokens === 1) {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  }
  const { messages, stop, maxTokens, seed } = request;
  const said = { content: messages[0]?.content, stop, maxTokens, seed: `${seed}` };
  yield [piece(JSON.stringify(said))];
  yield [piece("", "stop", [1, 1])];
};

/** What REST says of a body. */
async function overRest(url: string, body: string): Promise<Told> {
  const headers = { "content-type": "application/json", authorization: "Bearer me" };
  const response = await fetch(`${url}/llm`, { method: "POST", headers, body });
  const { error, detail } = await json(response);
  const { code, message, param } = error;
  type Detail = { loc: (string | number)[]; msg: string };
  const pathOf = ({ loc }: Detail) =>
    loc.slice(1).reduce((path, part) => {
      if (typeof part === "number") return `${path}[${part}]`;
      return path === "" ? part : `${path}.${part}`;
    }, "");
  const fields = Array.isArray(detail) ? detail.map((d: Detail) => `${pathOf(d)}: ${d.msg}`) : [];
  return { code, message, param: param ?? undefined, fields };
}

const messages = '"messages":[{"role":"user","content":"hi"}]';

describe.each(jsonWires)("$name", (wire) => {
  it.each([
    ["a field of the wrong type", `{${messages},"top_k":"x"}`],
    ["one with a lone surrogate", `{${messages},"top_k":"\\ud800"}`],
    ["several, and rules broken beside them", `{${messages},"top_k":"x","seed":1.5,"top_p":9}`],
    ["no messages, and a field", '{"top_k":"x"}'],
    ["inside of a message", '{"messages":[{"role":7},{"role":"king"}],"temperature":9}'],
    ["a message that is none", '{"messages":[5]}'],
    ["numbers that no field holds", `{${messages},"seed":1e30,"max_tokens":3000000000}`],
    ["no JSON", '{"messages":['],
    ["no object", "[]"],
    ["nothing", ""],
  ])("%s: told as over REST, and not without a token", async (_, body) => {
    const { url } = await serveChat(echo);
    const rest = await overRest(url, body);
    const { headers: _headers, ...told } = await ask(wire, url, body);
    expect(told).toEqual(rest);
    const stranger = await ask(wire, url, body, { authorization: "none" });
    expect(stranger.code).toBe("invalid_token");
  });

  it("an integer in a string of more digits than any has, which take time to read", async () => {
    const { url } = await serveChat(echo);
    const body = (digits: number) => `{${messages},"seed":"${"7".padStart(digits, "0")}"}`;
    expect(await ask(wire, url, body(100))).toMatchObject({ code: "ok" });
    const { code, fields } = await ask(wire, url, body(100_000));
    expect({ code, fields }).toEqual({
      code: "invalid_fields",
      fields: ["seed: must be an integer"],
    });
  });

  it.each(["gzip", "GZip"])("what is compressed, too: %s", async (coding) => {
    const { url } = await serveChat(echo);
    const pack = (text: string) => {
      const packed = gzipSync(text);
      return wire.enveloped ? encodeEnvelope(1, packed) : packed;
    };
    const headers = { authorization: "Bearer me", [wire.encoding]: coding };
    const body = `{${messages},"top_k":"x"}`;
    const told = await wire.send(url, pack(body), headers);
    expect(told.fields).toEqual((await overRest(url, body)).fields);
    expect(await wire.send(url, pack(`{${messages}}`), headers)).toMatchObject({ code: "ok" });
  });

  if (wire.enveloped)
    it("what is flagged as compressed, though no header says how, is not unpacked", async () => {
      const { url } = await serveChat(echo);
      const packed = encodeEnvelope(1, gzipSync(`{${messages},"top_k":"x"}`));
      const told = await wire.send(url, packed, { authorization: "Bearer me" });
      expect(told).toMatchObject({ code: "invalid_json", fields: [] });
    });

  it("fields that protobuf's JSON form spells otherwise are not at fault", async () => {
    const { url } = await serveChat(echo);
    const told = await ask(wire, url, `{${messages},"maxTokens":"5","seed":"7","top_p":"x"}`);
    expect(told.fields).toEqual(["top_p: must be a finite number"]);
    for (const first of ["5", "null"]) {
      const twice = await ask(wire, url, `{${messages},"maxTokens":${first},"max_tokens":6}`);
      expect(twice.fields).toEqual(["max_tokens: must be set once"]);
    }
  });

  it("nor those within a message, and what is wrong there is told as over REST", async () => {
    const { url } = await serveChat(echo);
    const body = (calls: string, format: string, schema: string) =>
      `{"messages":[{"role":"assistant","${calls}":[{"id":5},{"function":{"name":7}}]}],"${format}":{"type":"json_schema","${schema}":{"name":9}}}`;
    const own = await ask(wire, url, body("toolCalls", "responseFormat", "jsonSchema"));
    const rest = await overRest(url, body("tool_calls", "response_format", "json_schema"));
    expect(own.fields).toEqual(rest.fields);
    expect(own.fields?.length).toBeGreaterThan(2);
    for (const first of ["[]", "null"]) {
      const twice = `{"messages":[{"role":"user","toolCalls":${first},"tool_calls":[]}]}`;
      const told = await ask(wire, url, twice);
      expect(told.fields).toContain("messages[0].tool_calls: must be set once");
    }
  });

  it("nor parts in `content`, whose faults are told where the caller wrote them", async () => {
    const { url } = await serveChat(echo);
    const body = (...messages: string[]) => `{"messages":[${messages.join()}]}`;
    const said = (list: string, ...parts: string[]) =>
      `{"role":"user","${list}":[${parts.join()}]}`;
    const shows = (member: string, address: string) =>
      `{"type":"image_url","${member}":{"url":"${address}"}}`;
    const image = "data:image/png;base64,iVBORw0KGgo=";
    const texts = '{"type":"text","text":"a"}';
    const wrong = [
      [shows("imageUrl", "x"), shows("image_url", "x")],
      [`${texts},${shows("imageUrl", 'x","detail":"odd')}`, shows("image_url", 'x","detail":"odd')],
      ['{"type":"input_audio","inputAudio":{"data":"!","format":"wav"}}', ""],
      ['{"type":"file","file":{"fileData":5}}', ""],
      ['{"type":"odd"}', ""],
      ['{"type":"text"},5', ""],
      [`${texts},{"type":"image_url","imageUrl":{},"image_url":{}}`, ""],
    ] as const;
    for (const [parts] of wrong) {
      const own = await ask(wire, url, body(said("content", parts), said("parts", texts, parts)));
      const fields = own.fields?.join("\n") ?? "";
      expect(fields, parts).toMatch(/^messages\[0\]\.content\[/m);
      expect(fields, parts).not.toMatch(/^messages\[0\]\.parts|^messages\[1\]\.content/m);
    }
    const { code, fields } = await ask(wire, url, body(said("content", shows("imageUrl", image))));
    expect(`${code} ${fields}`).not.toContain("is required");
  });

  it("what REST takes is served, by its deadline", async () => {
    const { url } = await serveChat(echo);
    const body = `{"messages":[{"role":"user","content":"a\\ud800"}],"stop":"x","max_tokens":"5"}`;
    const { code, json: answer } = await ask(wire, url, body);
    expect(code).toBe("ok");
    const said = { content: "a\ufffd", stop: ["x"], maxTokens: 5, seed: "undefined" };
    const [choice] = JSON.parse(answer ?? "").choices;
    expect(JSON.parse((choice.message ?? choice.delta).content)).toEqual(said);
    const unknown = `{${messages},"store":"a","store":"b"}`;
    expect((await ask(wire, url, unknown)).code).toBe("ok");
    const known = await ask(wire, url, `{${messages},"model":"a","model":""}`);
    expect(known.code).toBe("invalid_json");
    const waits = body.replace('"5"', '"1"');
    const late = await ask(wire, url, waits, { "grpc-timeout": "1m", "connect-timeout-ms": "1" });
    expect(late.code).toBe("timeout");
  });

  it.each(["soon", "-1", "99999999999"])("a deadline of %s", async (deadline) => {
    const { url } = await serveChat(echo);
    const name = wire.encoding.startsWith("grpc") ? "grpc-timeout" : "connect-timeout-ms";
    for (const more of ["", ',"top_k":"x"']) {
      const body = `{${messages}${more}}`;
      const told = await ask(wire, url, body, { [name]: deadline });
      if (more) expect(told.code).toBe("invalid_fields");
      else expect(told).toMatchObject({ code: "invalid_value", param: name });
      const stranger = await ask(wire, url, body, { [name]: deadline, authorization: "none" });
      expect(stranger.code).toBe("invalid_token");
    }
  });

  it.each([';charset="utf-8"', " ; charset=utf-8", ";", "; foo=bar", "; charset=UTF8"])(
    "the type with %j",
    async (more) => {
      const { url } = await serveChat(echo);
      const spelled = Object.assign(Object.create(wire), { type: wire.type + more });
      expect((await ask(spelled, url, `{${messages}}`)).code).toBe("ok");
    },
  );
});

it("Connect's 401 says what is asked for", async () => {
  const { post } = await serveChat(echo);
  const path = "/lintel.v1.ChatService/Complete";
  const response = await post(path, hello(), { authorization: "none" });
  expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect(await response.json()).toMatchObject({ code: "unauthenticated" });
});
