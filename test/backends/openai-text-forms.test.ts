/** Forms of answers that are no JSON, as servers of OpenAI's API are asked for them. */
import { describe, expect, it } from "vitest";
import { textForm } from "../support/formats.js";
import { fits, grammarOf } from "./llama-grammars.js";
import { against, chat, complete } from "./openai-calls.js";
import { echo } from "./openai-subject.js";

const choice = textForm("choice", ["yes", "no. (never)"]);
const regex = textForm("regex", "[a-z]{2,3}");
const grammar = textForm("grammar", 'root ::= "a"+');
const names = [
  "response_format",
  "structured_outputs",
  "regex",
  "ebnf",
  "grammar",
  "guided_choice",
];

/** What a server is told of a form, streamed and whole. */
async function told(dialect: string, responseFormat: typeof choice) {
  const server = await against(echo, { dialect });
  await chat(server, { responseFormat });
  await complete(server, { responseFormat });
  const [streamed, whole] = server
    .bodies()
    .map((body) => Object.fromEntries(names.flatMap((n) => (n in body ? [[n, body[n]]] : []))));
  expect(streamed).toEqual(whole);
  return whole;
}

const either = "(yes|no\\. \\(never\\))";
const expression = "[a-z]{2,3}";
const own = 'root ::= "a"+';

describe("fields", () => {
  it.each([
    [
      "vllm",
      { structured_outputs: { choice: ["yes", "no. (never)"] } },
      { structured_outputs: { regex: expression } },
      { structured_outputs: { grammar: own } },
    ],
    ["sglang", { regex: either }, { regex: expression }, { ebnf: own }],
    [
      "tgi",
      { response_format: { type: "regex", value: either } },
      { response_format: { type: "regex", value: expression } },
      undefined,
    ],
    [
      "together",
      { response_format: { type: "regex", pattern: either } },
      { response_format: { type: "regex", pattern: expression } },
      undefined,
    ],
  ])("in the dialect %s", async (dialect, ofChoice, ofRegex, ofGrammar) => {
    expect(await told(dialect, choice)).toEqual(ofChoice);
    expect(await told(dialect, regex)).toEqual(ofRegex);
    if (ofGrammar) expect(await told(dialect, grammar)).toEqual(ofGrammar);
  });

  it.each(["llamacpp", "localai"])("in the dialect %s are a grammar", async (dialect) => {
    expect(await told(dialect, grammar)).toEqual({ grammar: own });
    const texts = await grammarOf((await told(dialect, choice))?.grammar);
    expect(["yes", "no. (never)", "no", "yesno", ""].map((text) => fits(texts, text))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    const matching = await grammarOf((await told(dialect, regex))?.grammar);
    expect(["a", "ab", "abc", "abcd", "a1"].map((text) => fits(matching, text))).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it.each([
    [textForm("regex", "\\bab"), "unsupported_parameter", "can't be held to a regex with bounds"],
    [textForm("regex", "("), "invalid_fields", "must be a regular expression in RE2's syntax"],
  ])("that no grammar says are refused before the server is asked: %j", async (form, code, why) => {
    const server = await against(echo, { dialect: "llamacpp" });
    await expect(complete(server, { responseFormat: form })).rejects.toMatchObject({
      ...{ code, param: "response_format.regex" },
      message: expect.stringContaining(why),
    });
    expect(server.bodies()).toEqual([]);
  });
});

it.each([
  ["vllm", ["choice", "regex", "grammar"]],
  ["sglang", ["choice", "regex", "grammar"]],
  ["llamacpp", ["choice", "regex", "grammar"]],
  ["localai", ["choice", "regex", "grammar"]],
  ["tgi", ["choice", "regex"]],
  ["together", ["choice", "regex"]],
  // A server that does not know them passes over them in silence.
  ["auto", []],
  ["openai", []],
  ["ollama", []],
  ["lmstudio", []],
])("models in the dialect %s support %j", async (dialect, forms) => {
  const { backend } = await against(echo, { dialect });
  const supports = backend.models()[0]?.supports ?? [];
  expect(supports.filter((field) => /^(?:choice|regex|grammar)$/.test(field))).toEqual(forms);
});
