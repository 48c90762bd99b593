/** Guards look at what callers send, around the real core. */
import { describe, expect, test } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import type { Handle } from "../../src/core/call.js";
import type { CoreParts } from "../../src/core/core.js";
import type { DocumentReader } from "../../src/core/documents.js";
import { LintelError } from "../../src/core/errors.js";
import type { Checker, Guard, GuardedText, Verdict } from "../../src/core/guards/guard.js";
import { silent } from "../../src/core/log.js";
import type { Telemetry } from "../../src/core/telemetry.js";
import { patternChecker } from "../../src/guards/pattern.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { contentAttributes } from "../../src/telemetry/content.js";
import { says } from "../support/scripted.js";
import { guarded, guardOf, mail, user } from "./guarding.js";

const secret = "me@example.com";
const file = (type: string, text: string, filename = "") => ({
  type: "file",
  file: {
    filename,
    fileData: `data:${type};base64,${Buffer.from(text).toString("base64")}`,
  },
});

/** One that says the same of all texts, and remembers them. */
function saying(verdict: (texts: readonly GuardedText[]) => Verdict | Promise<Verdict>) {
  const seen: (readonly GuardedText[])[] = [];
  const checker: Checker = {
    check(texts) {
      seen.push(texts);
      return verdict(texts);
    },
  };
  return { checker, seen };
}

const pass = () => saying(() => ({ action: "pass" }));

/** A request with a text wherever one can be. */
const everywhere = (text: string) => ({
  messages: [
    { role: "system", content: text },
    {
      role: "user",
      parts: [
        { type: "text", text },
        { type: "image_url", imageUrl: { url: "data:image/png;base64,AAAA" } },
        file("text/plain", text, text),
      ],
    },
    {
      role: "assistant",
      content: text,
      reasoningContent: text,
      reasoningDetails: JSON.stringify([
        { type: "reasoning.text", text, signature: text },
        { type: "reasoning.summary", summary: text },
        {
          type: "reasoning.text",
          id: "1a",
          format: "f",
          signature: "s",
          content: text,
          data: text,
        },
        { type: "reasoning.encrypted", data: "e" },
      ]),
      toolCalls: [
        {
          id: "a",
          type: "function",
          function: { name: "look", arguments: `{"${text}": [1, "${text}"]}` },
        },
      ],
    },
    { role: "tool", toolCallId: "a", content: text },
  ],
  stop: [text],
  tools: [
    {
      type: "function",
      function: { name: "look", description: text, parameters: `{"description":"${text}"}` },
    },
  ],
  responseFormat: {
    type: "json_schema",
    jsonSchema: { name: "n", description: text, schema: `{"description":"${text}"}` },
  },
});

/** What a model is asked where nobody looks. */
async function askedWithout(request: object): Promise<LLMRequest[]> {
  const { ask, backend } = guarded([]);
  await ask(request);
  return backend.asked as LLMRequest[];
}

const fields = [
  "messages[0].content",
  "messages[1].parts[0].text",
  "messages[1].parts[2].file.filename",
  "messages[1].parts[2].file.file_data",
  "messages[2].content",
  "messages[2].tool_calls[0].function.name",
  "messages[2].tool_calls[0].function.arguments",
  "messages[2].tool_calls[0].function.arguments",
  "messages[2].tool_calls[0].function.arguments",
  "messages[2].reasoning_content",
  ...Array<string>(4).fill("messages[2].reasoning_details"),
  "messages[3].content",
  "stop[0]",
  "tools[0].function.name",
  "tools[0].function.description",
  "tools[0].function.parameters",
  "tools[0].function.parameters",
  "response_format.json_schema.name",
  "response_format.json_schema.description",
  "response_format.json_schema.schema",
  "response_format.json_schema.schema",
];

describe("texts", () => {
  test("are all that a model reads", async () => {
    const { checker, seen } = pass();
    const { ask, backend } = guarded([guardOf("a", checker)]);
    expect((await ask(everywhere("said"))).code).toBe("ok");
    expect(seen[0]?.map(({ field }) => field)).toEqual(fields);
    const words = new Set(["look", "description", "1", "n", "said"]);
    expect(new Set(seen[0]?.map(({ text }) => text))).toEqual(words);
    expect(seen[0]?.slice(0, 2).map(({ role }) => role)).toEqual(["system", "user"]);
    // Who passes changes nothing.
    expect(backend.asked).toEqual(await askedWithout(everywhere("said")));
  });

  test("of a file, or ends of an answer, may be replaced by nothing", async () => {
    const parts = [{ type: "text", text: "Read this:" }, file("text/plain", secret, "a.txt")];
    const nothing = saying((texts) => ({
      action: "replace",
      found: [],
      texts: texts.map(({ text }) => (text === secret ? "" : text)),
    }));
    const { ask, backend } = guarded([guardOf("a", nothing.checker)]);
    const request = { messages: [{ role: "user", parts }], stop: [secret, "END"] };
    expect((await ask(request)).code).toBe("ok");
    const [asked] = backend.asked as LLMRequest[];
    // An end that is none would stop everything.
    expect(asked?.stop).toEqual(["END"]);
    expect(asked?.messages[0]?.content).toBe('Read this:\n\n<file name="a.txt">\n\n</file>\n\n');
  });

  test("have their places in the request as it came, for each guard", async () => {
    const request = {
      messages: [
        {
          role: "user",
          parts: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
            file("text/plain", secret),
          ],
        },
      ],
    };
    const first = pass();
    const { ask } = guarded([guardOf("a", first.checker), mail("block")]);
    expect((await ask(request)).error?.param).toBe("messages[0].parts[2].file.file_data");
    expect(first.seen[0]?.map(({ text }) => text)).toEqual(["ab", secret]);
  });

  test("are all masked, and all else stays as it is", async () => {
    const { ask, backend } = guarded([mail()]);
    const request = everywhere(secret);
    const { code, warnings } = await ask(request);
    expect(code).toBe("ok");
    expect(warnings).toEqual(['guards: "mail" replaced a part of the request']);
    const [asked] = backend.asked as LLMRequest[];
    const [expected] = await askedWithout(everywhere("[email]"));
    // A signature is none of the texts.
    const signature = '"signature":"me@example.com"';
    expect(asked?.messages[2]?.reasoningDetails).toContain(signature);
    const details = expected?.messages[2]?.reasoningDetails ?? "";
    Object.assign(expected?.messages[2] ?? {}, {
      reasoningDetails: details.replace('"signature":"[email]"', signature),
    });
    expect(asked).toEqual(expected);
    // The caller's own is as it was.
    expect(request).toEqual(everywhere(secret));
  });

  test("in parts that follow each other are one, as models read them", async () => {
    const { ask, backend } = guarded([mail()]);
    const parts = ["I am me@", "example.com", "."].map((text) => ({ type: "text", text }));
    const picture = { type: "image_url", imageUrl: { url: "data:image/png;base64,AAAA" } };
    await ask({ messages: [{ role: "user", parts: [...parts, picture, ...parts] }] });
    const [message] = (backend.asked[0] as LLMRequest).messages;
    expect(message?.parts.map(({ text }) => text)).toEqual([
      "I am [email].",
      undefined,
      "I am [email].",
    ]);
    const { ask: blocked } = guarded([mail("block")]);
    const { error } = await blocked({ messages: [{ role: "user", parts: [picture, ...parts] }] });
    expect(error?.param).toBe("messages[0].parts[1].text");
  });

  test("of arguments are found as they are meant, and the rest stays as it is written", async () => {
    const { ask, backend } = guarded([mail()]);
    const args = String.raw`{ "a": "x\nme\u0040example.com", "big": 12345678901234567890, "b": "\"q\"" }`;
    const broken = `{"a": "${secret}`;
    const call = (id: string, text: string) => ({
      id,
      type: "function",
      function: { name: "f", arguments: text },
    });
    await ask({
      messages: [{ role: "assistant", toolCalls: [call("a", args), call("b", broken)] }],
    });
    const [message] = (backend.asked[0] as LLMRequest).messages;
    expect(message?.toolCalls.map((it) => it.function?.arguments)).toEqual([
      String.raw`{ "a": "x\n[email]", "big": 12345678901234567890, "b": "\"q\"" }`,
      '{"a": "[email]',
    ]);
  });

  test("of lists and objects in thoughts are all looked at, names and numbers, too", async () => {
    const { ask, backend } = guarded([mail()]);
    const details = (text: string) => [
      { type: "reasoning.summary", summary: [text, { text: [[text, 7]] }], index: 0 },
      { type: "reasoning.text", content: { deep: { [text]: text } }, signature: secret },
      { type: "lintel.extra_content", id: "a", extra_content: { google: secret } },
      { type: "reasoning.text", [text]: true, more: { text } },
    ];
    const thought = { role: "assistant", content: "b", reasoningDetails: "" };
    const request = (text: string) => ({
      messages: [{ ...thought, reasoningDetails: JSON.stringify(details(text)) }],
    });
    await ask(request(secret));
    const told = (backend.asked as LLMRequest[])[0]?.messages[0]?.reasoningDetails ?? "";
    expect(JSON.parse(told)).toEqual(details("[email]"));
  });

  test("that are names of members and masked alike are told with numbers: none takes another's place", async () => {
    const { ask, backend } = guarded([mail()]);
    const members = (names: readonly string[]) =>
      Object.fromEntries(names.map((name, i) => [name, i]));
    const before = ["[email] 3", "a@example.com", "b@example.com", "[email]", "[email] 2", "a"];
    const after = ["[email] 3", "[email]", "[email] 2", "[email] 4", "[email] 2 2", "a"];
    const of = (names: readonly string[]) => [
      { type: "reasoning.text", ...members(names), more: [members(names), { content: {} }] },
      { type: "reasoning.text", content: members(names) },
    ];
    const args = '{"c":1, "a@example.com" : {"b@example.com":1},"b@example.com":2,"c":3}';
    const call = { id: "c", type: "function", function: { name: "f", arguments: args } };
    const reasoningDetails = JSON.stringify(of(before));
    await ask({ messages: [{ role: "assistant", toolCalls: [call], reasoningDetails }] });
    const [message] = (backend.asked[0] as LLMRequest).messages;
    expect(message?.reasoningDetails).toBe(JSON.stringify(of(after)));
    expect(message?.toolCalls[0]?.function?.arguments).toBe(
      '{"c":1, "[email]" : {"[email]":1},"[email] 2":2,"c":3}',
    );
  });

  test.each([
    ['{"a@b.com":1,"[email]":2}', '{"[email]":1,"[email] 2":2}'],
    ['{"[email]":1,"a@b.com":2}', '{"[email]":1,"[email] 2":2}'],
    ['{"in":{"a@b.com":1},"b@b.com":2}', '{"in":{"[email]":1},"[email]":2}'],
  ])("that are names of members, %s, are %s", async (args, masked) => {
    const { ask, backend } = guarded([mail()]);
    const call = { id: "c", type: "function", function: { name: "f", arguments: args } };
    await ask({ messages: [{ role: "assistant", toolCalls: [call] }] });
    const [message] = (backend.asked[0] as LLMRequest).messages;
    expect(message?.toolCalls[0]?.function?.arguments).toBe(masked);
  });

  test("of thoughts are masked also where a later one has nothing to mask", async () => {
    const details = (text: string) => JSON.stringify([{ text }, { text: "fine", signature: "s" }]);
    const { ask, backend } = guarded([mail()]);
    const assistant = { role: "assistant", content: "Hi", reasoningDetails: details(secret) };
    await ask({ messages: [assistant, ...user("Hello").messages] });
    // As it is written, where nothing is.
    const written = JSON.stringify([{ text: "fine", signature: "s" }], null, 1);
    await ask({ messages: [{ ...assistant, reasoningDetails: written }, ...user("Hi").messages] });
    const asked = backend.asked as LLMRequest[];
    expect(asked.map(({ messages: [first] }) => first?.reasoningDetails)).toEqual([
      details("[email]"),
      written,
    ]);
  });

  test("a number in arguments becomes a text where it is masked", async () => {
    const patterns = ["^-1\\.5E\\+3$", "^2e-7$"];
    const card = patternChecker({ name: "c", find: ["credit_card"], patterns, action: "mask" });
    const { ask, backend } = guarded([guardOf("c", card)]);
    const args = '{"card":4111111111111111,"n":-1.5e3,"of":[-1.5E+3,2e-7]}';
    const call = { id: "a", type: "function", function: { name: "f", arguments: args } };
    await ask({ messages: [{ role: "assistant", toolCalls: [call] }] });
    const [message] = (backend.asked[0] as LLMRequest).messages;
    expect(message?.toolCalls[0]?.function?.arguments).toBe(
      '{"card":"[credit_card]","n":-1.5e3,"of":["[c]","[c]"]}',
    );
  });

  test.each(["textToImage", "streamTextToImage"] as const)("of %s are masked", async (method) => {
    const { ask, backend } = guarded([mail()]);
    const { code } = await ask({ prompt: `a | ${secret}`, negativePrompt: `no ${secret}` }, method);
    expect(code).toBe("ok");
    const asked = backend.asked as TextToImageRequest[];
    expect(asked.map(({ prompt, negativePrompt }) => [prompt, negativePrompt])).toEqual([
      ["a", "no [email]"],
      ["[email]", "no [email]"],
    ]);
  });

  test("whose tokens are counted are masked, too", async () => {
    const { ask } = guarded([mail("block")]);
    expect((await ask(user(secret), "countTokens")).code).toBe("content_blocked");
    expect((await ask(user("Hello"), "countTokens")).code).toBe("ok");
  });
});

describe("a guard", () => {
  test.each(["complete", "chat"] as const)(
    "that blocks refuses %s, asks nobody, and names the field",
    async (method) => {
      const { ask, backend } = guarded([mail("block")]);
      const { code, error, warnings } = await ask(
        { messages: [{ role: "system", content: "Be kind." }, ...user(`I am ${secret}`).messages] },
        method,
      );
      expect([code, error?.http, error?.param, error?.retry]).toEqual([
        "content_blocked",
        400,
        "messages[1].content",
        "never",
      ]);
      expect(error?.message).toBe('messages[1].content: was blocked by the guard "mail"');
      expect(backend.asked).toEqual([]);
      expect(warnings).toEqual([]);
    },
  );

  test("that blocks images names the prompt at fault", async () => {
    const { ask } = guarded([mail("block")]);
    const prompts = [{ prompt: secret }, { prompt: "a", negativePrompt: secret }];
    const params = [];
    for (const request of prompts) params.push((await ask(request, "textToImage")).error?.param);
    expect(params).toEqual(["prompt", "negative_prompt"]);
  });

  test("that flags passes, and the log line tells", async () => {
    const lines: object[] = [];
    const log = { ...silent, info: (fields: object) => void lines.push(fields) };
    const { ask, backend } = guarded([mail("flag")], says("Hi"), {}, { log });
    const { code, warnings } = await ask(user(secret));
    expect([code, warnings]).toEqual(["ok", []]);
    expect(backend.asked[0]).toMatchObject(user(secret));
    await ask(user("Hello"));
    const flagged = { guard: "mail", side: "prompt", result: "flagged", found: ["email"] };
    expect(lines).toMatchObject([{ guards: [flagged] }, { guards: undefined }]);
    expect(JSON.stringify(lines)).not.toContain(secret);
  });

  describe("where the log and spans tell what was said", () => {
    /** What both have of the prompt of one call. */
    async function told(
      guards: readonly Guard[],
      request: object,
      method?: "textToImage",
      parts: Partial<CoreParts> = {},
      origin = {},
    ) {
      const lines: Record<string, unknown>[] = [];
      const inSpans: unknown[] = [];
      const line = (fields: object) => void lines.push({ ...fields });
      const log = {
        ...silent,
        info: line,
        warn: (fields: object) => "prompt" in fields && line(fields),
      };
      const telemetry: Telemetry = {
        begin: () => ({
          wantsContent: true,
          attempt: () => undefined,
          end(call, _, said) {
            const content = said && contentAttributes(call, said);
            const input = content?.["gen_ai.input.messages"];
            inSpans.push(input === undefined ? undefined : JSON.parse(String(input)));
          },
        }),
      };
      const callLog = { sample: 1, content: true };
      const { ask } = guarded(guards, says("Hi"), { callLog }, { log, telemetry, ...parts });
      const { code } = await ask(request, method ?? "complete", origin);
      expect(JSON.stringify([lines, inSpans])).not.toContain(secret);
      return { code, prompts: lines.map(({ prompt }) => prompt), inSpans };
    }

    test("what was masked is masked there", async () => {
      expect(await told([mail()], user(`I am ${secret}`))).toMatchObject({
        prompts: [[{ role: "user", content: "I am [email]" }]],
        inSpans: [[{ role: "user", parts: [{ content: "I am [email]" }] }]],
      });
      expect(await told([mail()], { prompt: secret }, "textToImage")).toMatchObject({
        prompts: ["[email]"],
        inSpans: [[{ parts: [{ content: "[email]" }] }]],
      });
    });

    test("nothing is there that a part has besides what it is, at which no guard looks", async () => {
      const imageUrl = { url: "data:image/png;base64,AA==" };
      const besides = { fileData: "data:text/plain;base64,QQ==", filename: secret };
      const parts = [
        { type: "text", text: "Hello", file: besides, imageUrl: { url: secret } },
        { type: "image_url", imageUrl, text: secret, file: besides },
      ];
      const request = { messages: [{ role: "user", parts }] };
      expect(await told([mail()], request)).toMatchObject({
        code: "ok",
        prompts: [[{ content: "Hello" }]],
        inSpans: [[{ parts: [{ type: "text", content: "Hello" }, { mime_type: "image/png" }] }]],
      });
    });

    test("what passes is there as it is, also where guards look at other calls", async () => {
      const others: Partial<Guard>[] = [{}, { models: ["other"] }, { lookAt: ["answers"] }];
      for (const more of others) {
        expect(await told([mail("block", more)], user("Hello"))).toMatchObject({
          prompts: [[{ role: "user", content: "Hello" }]],
          inSpans: [[{ role: "user", parts: [{ content: "Hello" }] }]],
        });
      }
    });

    test("nothing is of a prompt that was blocked, or that nobody could look at", async () => {
      const failing = saying(() => {
        throw new LintelError("unavailable", "away");
      });
      const nothing = { prompts: [undefined], inSpans: [undefined] };
      const blocked = { code: "content_blocked", ...nothing };
      expect(await told([mail("block")], user(secret))).toEqual(blocked);
      // The first has masked another one.
      const words = patternChecker({ name: "p", find: [], patterns: ["bad"], action: "block" });
      const both = [mail(), guardOf("p", words)];
      expect(await told(both, user(`${secret} bad`))).toEqual(blocked);
      expect(await told([mail("block")], { prompt: secret }, "textToImage")).toEqual(blocked);
      const failed = await told([guardOf("a", failing.checker)], user(secret));
      expect(failed).toMatchObject({ code: "unavailable", inSpans: [undefined] });
    });

    test("nothing is of a call that ended ahead of guards", async () => {
      const limits = {
        settings: { caller: { requestsPerMinute: 0 }, models: [], global: {} },
        prices: [],
        store: memoryLimits(),
      };
      const refused = await told([mail()], user(secret), undefined, { limits });
      expect(refused).toMatchObject({ code: "rate_limited", inSpans: [undefined] });
    });
  });

  test("sees what those before it left", async () => {
    const first = saying((texts) => ({
      action: "replace",
      found: [],
      texts: texts.map(({ text }) => `${text}!`),
    }));
    const second = pass();
    const { ask, backend } = guarded([
      guardOf("a", first.checker),
      mail(),
      guardOf("b", second.checker),
    ]);
    await ask(user(secret));
    expect(second.seen[0]?.map(({ text }) => text)).toEqual(["[email]!"]);
    expect(backend.asked[0]).toMatchObject(user("[email]!"));
  });

  test("is told no text of which those before it left nothing, and is not asked where there is none", async () => {
    const replacing = (by: (text: string) => string) =>
      saying((texts) => ({
        action: "replace",
        found: [],
        texts: texts.map(({ text }) => by(text)),
      }));
    const first = replacing((text) => (text === secret ? "" : text));
    const second = replacing((text) => `${text}!`);
    const { ask, backend } = guarded([guardOf("a", first.checker), guardOf("b", second.checker)]);
    const system = { role: "system", content: secret };
    await ask({ messages: [system, { role: "user", content: "Hello" }] });
    await ask(user(secret));
    expect(second.seen.map((texts) => texts.map(({ text }) => text))).toEqual([["Hello"]]);
    expect(backend.asked).toMatchObject([
      { messages: [{ content: "" }, { content: "Hello!" }] },
      user(""),
    ]);
  });

  test("that would replace the name of a function blocks the call", async () => {
    const { checker } = saying((texts) => ({
      action: "replace",
      found: ["x"],
      texts: texts.map(({ text }) => text.replace("look", "[x]")),
    }));
    const { ask, backend } = guarded([guardOf("a", checker)]);
    const { code, error } = await ask(everywhere("b"));
    expect([code, error?.param]).toEqual([
      "content_blocked",
      "messages[2].tool_calls[0].function.name",
    ]);
    expect(backend.asked).toEqual([]);
  });

  test("looks at calls of its models alone, by the name under which they count", async () => {
    const settings = { models: [{ name: "chat-1", aliases: ["gpt"] }] };
    const of = (models: string[]) => guarded([mail("block", { models })], says("Hi"), settings);
    const codes = async (models: string[]) => {
      const { ask } = of(models);
      const by = async (model: string) => (await ask({ ...user(secret), model })).code;
      return [await by("chat-1"), await by("gpt"), await by("")];
    };
    const [ok, no] = ["ok", "content_blocked"];
    expect(await codes(["chat-*"])).toEqual([no, no, no]);
    expect(await codes(["gpt", "other"])).toEqual([ok, ok, ok]);
    const answers = guarded([mail("block", { lookAt: ["answers"] })]);
    expect((await answers.ask(user(secret))).code).toBe(ok);
  });

  test.each(["closed", "open"] as const)("that fails, %s", async (onFailure) => {
    const said: unknown[] = [];
    const log = { ...silent, warn: (...line: unknown[]) => void said.push(line) };
    const { checker } = saying(() => {
      throw new Error("boom");
    });
    const { ask, backend } = guarded(
      [guardOf("a", checker, { onFailure })],
      says("Hi"),
      {},
      { log },
    );
    const { code, error, warnings } = await ask(user("Hello"));
    if (onFailure === "closed") {
      expect([code, error?.http, error?.message]).toEqual([
        "unavailable",
        503,
        'the guard "a" can\'t look at this now',
      ]);
      expect(backend.asked).toEqual([]);
    } else {
      expect([code, warnings]).toEqual([
        "ok",
        ['guards: "a" failed, not all texts were looked at'],
      ]);
    }
    expect(said[0]).toMatchObject([{ guard: "a", onFailure }, "a guard failed"]);
  });

  test.each<[string, LintelError | boolean, string, string]>([
    [
      "that fails",
      new LintelError("internal", "no process"),
      "unavailable",
      "can't look at it now",
    ],
    [
      "with faults",
      true,
      "content_blocked",
      "can't look at it: the PDF has faults, some of its text may be missing",
    ],
  ])("has a reader of PDFs %s: its document is named, or passes", async (_, told, code, words) => {
    const callers: string[] = [];
    const documents: DocumentReader = {
      async read(_pdf, caller) {
        callers.push(caller);
        if (told instanceof LintelError) throw told;
        return { text: "Hi", pages: 1, blank: 0, damaged: true };
      },
    };
    const messages = [{ role: "user", parts: [file("application/pdf", "%PDF-1.4")] }];
    const param = "messages[0].parts[0].file.file_data";
    const said: unknown[] = [];
    const log = { ...silent, warn: (...line: unknown[]) => void said.push(line[1]) };
    const closed = guarded([mail()], says("Hi"), {}, { documents, log });
    const { error } = await closed.ask({ messages }, "countTokens");
    expect([error?.code, error?.param, error?.message]).toEqual([
      code,
      param,
      `${param}: the guard "mail" ${words}`,
    ]);
    // Of what is its caller's fault an operator hears nothing.
    const failed = code === "unavailable" ? ["a guard failed"] : [];
    expect(said.filter((words) => words === "a guard failed")).toEqual(failed);
    const open = guarded([mail("mask", { onFailure: "open" })], says("Hi"), {}, { documents });
    const { warnings } = await open.ask({ messages }, "countTokens", { credential: "other" });
    expect(warnings[0]).toMatch(/^guards: "mail" (?:failed|can't look)/);
    // Each caller has its turn.
    expect(new Set(callers).size).toBe(2);
  });

  test("has no more PDFs read once its caller has left", async () => {
    const caller = new AbortController();
    let reads = 0;
    const documents: DocumentReader = {
      async read(_pdf, _caller, signal) {
        reads++;
        caller.abort();
        throw signal.reason;
      },
    };
    const { ask, backend } = guarded([mail()], says("Hi"), {}, { documents });
    const pdf = file("application/pdf", "%PDF-1.4");
    const call = ask({ messages: [{ role: "user", parts: [pdf, pdf] }] }, "complete", {
      signal: caller.signal,
    });
    expect((await call).code).toBe("cancelled");
    expect([reads, backend.asked]).toEqual([1, []]);
  });

  test("is not waited for once its caller has left", async () => {
    const caller = new AbortController();
    const said: unknown[] = [];
    const log = { ...silent, warn: (...line: unknown[]) => void said.push(line) };
    const { checker } = saying(
      () =>
        new Promise((_, fail) =>
          caller.signal.addEventListener("abort", () => fail(new Error("x"))),
        ),
    );
    const open = guarded([guardOf("a", checker, { onFailure: "open" })], says("Hi"), {}, { log });
    const call = open.ask(user("Hello"), "complete", { signal: caller.signal });
    setImmediate(() => caller.abort());
    expect((await call).code).toBe("cancelled");
    await open.core.idle();
    await new Promise(setImmediate);
    // It did not fail.
    expect([open.backend.asked, said]).toEqual([[], []]);
  });

  describe("that looks at images", () => {
    const url = "data:image/png;base64,AA==";
    const image = { type: "image_url", imageUrl: { url, detail: "" } };
    const parts = [{ type: "text", text: "Who is it?" }, image];
    const messages = [...user("Hello").messages, { role: "user", content: "", parts }];
    const shown = [{ field: "messages[1].parts[1].image_url.url", role: "user", url }];
    /** What a guard is asked, which blocks images where it is shown any. */
    const seeing = (more: Partial<Guard>) => {
      const asked: unknown[] = [];
      const checker: Checker = {
        check(texts, _call, images = []) {
          asked.push({ texts: texts.map(({ text }) => text), images });
          const [{ field } = {}] = images;
          return field ? { action: "block", found: ["face"], field } : { action: "pass" };
        },
      };
      return { asked, guard: guardOf("faces", checker, more) };
    };

    test.each(["complete", "chat", "countTokens"] as const)("blocks one in %s", async (method) => {
      const { guard, asked } = seeing({ images: true });
      const { ask, backend } = guarded([guard]);
      const { code, error } = await ask({ messages }, method);
      expect([code, error?.param]).toEqual(["content_blocked", shown[0]?.field]);
      expect(asked).toEqual([{ texts: ["Hello", "Who is it?"], images: shown }]);
      expect(backend.asked).toEqual([]);
    });

    test("is asked about one without a word", async () => {
      const { guard, asked } = seeing({ images: true });
      const { ask } = guarded([guard]);
      const alone = [{ role: "user", content: "", parts: [image] }];
      expect((await ask({ messages: alone })).code).toBe("content_blocked");
      expect(asked).toMatchObject([{ texts: [], images: [{ url }] }]);
    });

    test("is shown one that comes as a file, and none that is text to models", async () => {
      const { guard, asked } = seeing({ images: true });
      const { ask } = guarded([guard]);
      const drawn = file("image/svg+xml", "<svg/>");
      const picture = file("image/png", "A");
      const parts = [drawn, file("audio/wav", "A"), picture];
      const { code, error } = await ask({ messages: [{ role: "user", parts }] });
      const field = "messages[0].parts[2].file.file_data";
      expect([code, error?.param]).toEqual(["content_blocked", field]);
      expect(asked).toMatchObject([{ images: [{ field, url: picture.file.fileData }] }]);
      await ask({ messages: [{ role: "user", parts: [drawn] }] });
      expect(asked.slice(1)).toMatchObject([{ images: [] }]);
    });

    test("is shown what a part is by its type, whatever it has besides", async () => {
      const { guard, asked } = seeing({ images: true });
      const { ask } = guarded([guard]);
      const picture = { ...file("image/png", "A"), imageUrl: image.imageUrl };
      const words = { type: "text", text: "Hello", imageUrl: image.imageUrl };
      await ask({ messages: [{ role: "user", parts: [picture, words] }] });
      const field = "messages[0].parts[0].file.file_data";
      expect(asked).toMatchObject([{ images: [{ field, url: picture.file.fileData }] }]);
      expect(asked).toHaveLength(1);
    });

    test("is shown none where it is not to, or where there are none", async () => {
      const { guard, asked } = seeing({});
      const { ask } = guarded([guard, { ...guard, name: "b", images: true }]);
      expect((await ask(user("Hello"))).code).toBe("ok");
      expect((await ask({ messages })).code).toBe("content_blocked");
      expect(asked).toMatchObject([
        { images: [] },
        { images: [] },
        { images: [] },
        { images: shown },
      ]);
    });
  });

  test.each(["complete", "chat"] as const)(
    "has nobody asked by %s whose caller left while it looked",
    async (method) => {
      const caller = new AbortController();
      const { checker } = saying(async () => {
        caller.abort();
        return { action: "pass" };
      });
      const lookAt = ["prompts", "answers"] as const;
      const { ask, backend, core } = guarded([guardOf("a", checker, { lookAt })]);
      const { code } = await ask(user("Hello"), method, { signal: caller.signal });
      expect(code).toBe("cancelled");
      await core.idle();
      await new Promise(setImmediate);
      expect(backend.asked).toEqual([]);
    },
  );

  test("refuses calls that count as requests all the same", async () => {
    const limits = {
      settings: { caller: { requestsPerMinute: 1 }, models: [], global: {} },
      prices: [],
      store: memoryLimits(),
    };
    const { ask } = guarded([mail("block")], says("Hi"), {}, { limits });
    expect((await ask(user(secret))).code).toBe("content_blocked");
    expect((await ask(user("Hello"))).code).toBe("rate_limited");
  });

  test("masks before answers are looked for: who wrote another secret asked the same", async () => {
    const cache = { ttlMs: 60_000, scope: "caller", maxAnswerBytes: 1000 } as const;
    const chat: Handle<"chat"> = says("Hi");
    const { ask, backend } = guarded([mail()], chat, { cache }, { cache: memoryCache(10_000) });
    await ask(user("I am a@example.com"));
    const { metadata } = await ask(user("I am b@example.com"));
    expect(metadata.get("cache-status")).toContain("hit");
    expect(backend.asked).toHaveLength(1);
  });

  test.each(["complete", "chat"] as const)(
    "says nothing in answers by %s that are kept for others",
    async (method) => {
      const cache = { ttlMs: 60_000, scope: "all", maxAnswerBytes: 1000 } as const;
      const settings = { cache };
      const chat: Handle<"chat"> = async function* (call) {
        call.warnings.add("the seed was dropped");
        yield* says("Hi")(call);
      };
      const parts = { cache: memoryCache(10_000) };
      const { ask, backend } = guarded([mail()], chat, settings, parts);
      const words = async (content: string) => {
        const { messages, warnings } = await ask(user(content), method);
        expect((messages.at(-1) as LLMResponse).warnings.toSorted()).toEqual(warnings.toSorted());
        return warnings.toSorted();
      };
      const masked = 'guards: "mail" replaced a part of the request';
      expect(await words(secret)).toEqual([masked, "the seed was dropped"]);
      expect(await words("[email]")).toEqual(["the seed was dropped"]);
      expect(backend.asked).toHaveLength(1);
    },
  );
});
