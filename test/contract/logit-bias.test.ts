/** A bias of tokens is the same on every door whose clients can say it: all but Google's. */
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { type Lintel, startLintel } from "../support/lintel.js";
import { chatModel } from "../support/models.js";
import { piece, type Scripted, scripted } from "../support/scripted.js";
import { drivers } from "./drivers.js";

const hello = { messages: [{ role: "user", content: "Hello" }] };
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [i, 1]));

describe.each(drivers.filter(({ name }) => !name.startsWith("Google")))("$name", ({ chat }) => {
  let lintel: Lintel;
  let backend: Scripted;
  beforeAll(async () => {
    backend = scripted(
      {
        async *chat({ request }) {
          yield [piece(JSON.stringify(request.logitBias))];
          yield [piece("", "stop", [1, 1])];
        },
      },
      [chatModel("m"), chatModel("plain", { supports: ["max_tokens"] })],
    );
    lintel = await startLintel([backend]);
  });
  afterAll(() => lintel.close());

  const asking = (logit_bias: unknown, model = "m") =>
    chat?.(lintel.url, {
      ...{ name: "", expected: {} },
      request: { ...hello, model, max_tokens: 9, logit_bias },
    });

  it("reaches the model", async () => {
    expect(await asking({ "50256": -100, "7": 2.5 })).toMatchObject({
      text: '{"7":2.5,"50256":-100}',
      warning: expect.not.stringContaining("logit_bias"),
    });
    expect(await asking(many(1024))).toMatchObject({ text: JSON.stringify(many(1024)) });
  });

  it("is left out, with a warning, of what a model is told that knows none", async () => {
    const { text, warning } = (await asking({ "50256": -100 }, "plain")) ?? {};
    expect([text, warning]).toEqual([
      "{}",
      expect.stringContaining("logit_bias: not supported by this model, ignored"),
    ]);
  });

  it("beyond its bounds is refused by the tokens' names", async () => {
    expect(await asking({ "5": 100.5, "7": 1, "9": -101 })).toMatchObject({
      error: { code: "invalid_fields", fields: ['logit_bias["5"]', 'logit_bias["9"]'] },
    });
    expect(await asking({ "-5": 1 })).toMatchObject({
      error: { code: "invalid_fields", fields: ['logit_bias["-5"]'] },
    });
    expect(await asking(many(1025))).toMatchObject({
      error: { code: "invalid_fields", fields: ["logit_bias"] },
    });
  });
});

describe("JSON", () => {
  let lintel: Lintel;
  beforeAll(async () => {
    lintel = await startLintel([scripted({})]);
  });
  afterAll(() => lintel.close());

  const said = async (path: string, logit_bias: unknown) => {
    const body = JSON.stringify({ ...hello, logit_bias });
    const headers = { "content-type": "application/json", authorization: "Bearer me" };
    const answer = await fetch(`${lintel.url}${path}`, { method: "POST", headers, body });
    return await answer.text();
  };

  it.each(["/llm", "/v1/chat/completions", "/v1/messages", "/lintel.v1.ChatService/Complete"])(
    "%s: what is no token, or no number, is told",
    async (path) => {
      const key = "its key must be an integer from 0 to 2147483647";
      for (const [bias, ...told] of [
        [{ the: 1, "3000000000": 1 }, `logit_bias[\\"the\\"]: ${key}`, `["3000000000\\"]: ${key}`],
        [{ "5": "much" }, 'logit_bias[\\"5\\"]: must be a finite number'],
        [[[5, 1]], "logit_bias: must be an object"],
      ] as const) {
        const text = await said(path, bias);
        for (const words of told) expect(text).toContain(words.replace('["3', '[\\"3'));
      }
    },
  );

  it("has the token in the place of the fault", async () => {
    const { detail } = JSON.parse(await said("/llm", { "5": 101, "a.b[0]": 1 }));
    const places = detail.map(({ loc }: { loc: unknown }) => JSON.stringify(loc));
    expect(places.sort()).toEqual(['["body","logit_bias","5"]', '["body","logit_bias","a.b[0]"]']);
  });

  it("of protobuf may have the numbers in texts", () => {
    const request = { ...hello, logitBias: { "5": "1.5" } };
    expect(toBinary(LLMRequestSchema, fromJson(LLMRequestSchema, request))).toEqual(
      toBinary(LLMRequestSchema, fromJson(LLMRequestSchema, { ...hello, logit_bias: { 5: 1.5 } })),
    );
  });
});
