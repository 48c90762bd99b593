/** Guards look at what callers send, around the real core. */
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { patternChecker } from "../../src/guards/pattern.js";
import {
  everywhere,
  file,
  guarded,
  guardOf,
  mail,
  pass,
  saying,
  secret,
  user,
} from "./guarding.js";

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

  test("of what asks no model nobody looks at", async () => {
    const { checker, seen } = pass();
    const { ask } = guarded([guardOf("a", checker)]);
    expect((await ask({ id: "" }, "listModels")).code).toBe("ok");
    expect((await ask({ user: "me" }, "getAccount")).code).toBe("ok");
    expect(seen).toEqual([]);
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

  test("a key in arguments is known by the name of its member", async () => {
    const settings = { name: "k", find: ["api_key"], patterns: [], action: "mask" } as const;
    const { ask, backend } = guarded([guardOf("k", patternChecker(settings))]);
    const key = "0123456789abcdef0123456789abcdef";
    const args = `{"env":{"api_key": "${key}","n":1},"sum":"${key}","api-key":["${key}"],"apiKey":{"sum":"${key}"}, "api_key":"0123\u200b${key.slice(4)}"}`;
    const call = { id: "a", type: "function", function: { name: "f", arguments: args } };
    await ask({ messages: [{ role: "assistant", toolCalls: [call] }] });
    const [message] = (backend.asked[0] as LLMRequest).messages;
    expect(message?.toolCalls[0]?.function?.arguments).toBe(
      `{"env":{"api_key": "[api_key]","n":1},"sum":"${key}","api-key":["[api_key]"],"apiKey":{"sum":"${key}"}, "api_key":"[api_key]"}`,
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
