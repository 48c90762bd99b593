/** Answers in JSON stay JSON, whatever is masked in them. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { JsonMarks } from "../../src/core/guards/json-marks.js";
import { patternChecker } from "../../src/guards/pattern.js";
import { says, thinks, thought } from "../support/scripted.js";
import { guarded, guardOf, user } from "./guarding.js";

const card = "4111111111111111";
const answer = `{"card":${card}, "others" : [${card}, true,-${card}],"said":"it is \\"[${card}]\\" [x]","none":[null]}`;
const masked = {
  card: "[credit_card]",
  others: ["[credit_card]", true, "-[credit_card]"],
  said: 'it is "[[credit_card]]" [x]',
  none: [null],
};

const cards = (name: string) =>
  guardOf(name, patternChecker({ name, find: ["credit_card"], patterns: [], action: "mask" }), {
    lookAt: ["answers"],
  });

const content = (messages: readonly object[]) =>
  (messages as LLMResponse[])
    .map(({ choices: [choice] }) => (choice?.delta ?? choice?.message)?.content ?? "")
    .join("");

describe.each([
  ["complete", 7],
  ["chat", 1],
  ["chat", 7],
  ["chat", 1000],
] as const)("%s, in pieces of %i", (method, length) => {
  const pieces = answer.match(new RegExp(`.{1,${length}}`, "g")) ?? [];

  test.each([1, 2])("a number that is masked becomes a string, by %i guards", async (guards) => {
    const all = ["first", "second"].slice(0, guards).map(cards);
    const { ask } = guarded(all, says(...pieces));
    const asked = { ...user("Hello"), responseFormat: { type: "json_object" } };
    const { messages } = await ask(asked, method);
    expect(JSON.parse(content(messages))).toEqual(masked);
  });

  test("a number at the end of an answer that is cut off is told", async () => {
    const { ask } = guarded([cards("cards")], says(...(`[${card},1.5`.match(/.{1,7}/g) ?? [])));
    const asked = { ...user("Hello"), responseFormat: { type: "json_object" } };
    const { messages } = await ask(asked, method);
    expect(content(messages)).toBe('["[credit_card]",1.5');
  });

  test("nothing of it where no JSON was asked for", async () => {
    const { ask } = guarded([cards("cards")], says(...pieces));
    const { messages } = await ask(user("Hello"), method);
    expect(content(messages)).toMatch(/^\{"card":\[credit_card\], "others" : \[\[credit_card\],/);
  });
});

test("what is masked in thoughts changes nothing of what is said", async () => {
  const said = `{"as": [it is], "card": 1}`;
  const { ask } = guarded([cards("cards")], thinks([thought(`It is ${card}.`)], said));
  const asked = { ...user("Hello"), responseFormat: { type: "json_object" } };
  const { messages } = await ask(asked);
  const message = (messages as LLMResponse[])[0]?.choices[0]?.message;
  expect(message?.reasoningContent).toBe("It is [credit_card].");
  expect(message?.content).toBe(said);
});

function whole(text: string, replaced: boolean): string {
  const marks = new JsonMarks();
  return marks.pass(text, replaced) + marks.end();
}

test("what nothing was replaced in passes as it is", () => {
  const text = 'see [this], "and [that]" [1, 2] [true]';
  expect(whole(text, false)).toBe(text);
});

test("a number of which the rest is masked is in the string, whole, and none at the end is lost", () => {
  const marks = new JsonMarks();
  const told = [marks.pass("[12", false), marks.pass("3[x]4", true), marks.pass(",-1.5", false)];
  expect([...told, marks.end(), marks.end()].join("")).toBe('["123[x]4",-1.5');
});

test("a mark with a long name is one, also where the rest of its number comes later", () => {
  const name = `[${"a-guard-".repeat(30)}]`;
  const marks = new JsonMarks();
  const told = [marks.pass(`[12${name}`, true), marks.pass("34]", false), marks.end()];
  expect(told.join("")).toBe(`["12${name}34"]`);
});

test("all that a number may have is in the string, wherever it is cut", () => {
  for (const text of ["1.5E+3[x]-2.5e+7", "-1e-5[x]+3.5E"]) {
    const marks = new JsonMarks();
    // What takes another's place comes whole.
    const pieces = `[${text},7]`.match(/\[x\]|./g) ?? [];
    const told = pieces.map((one) => marks.pass(one, one === "[x]"));
    expect([...told, marks.end()].join("")).toBe(`["${text}",7]`);
  }
});

test("what stands in brackets behind a piece in which something was replaced passes as it is", () => {
  const marks = new JsonMarks();
  const told = [
    marks.pass("[x],", true),
    marks.pass("[that] 1", false),
    marks.pass(" [it]", false),
  ];
  expect([...told, marks.end()].join("")).toBe('"[x]",[that] 1 [it]');
});

test("strings are followed from one piece to the next, with all that they escape", () => {
  const marks = new JsonMarks();
  const told = ['{"a\\', '"[x]', '":[x],"b', '\\\\":', "[x]", ',"c":"[x]"}'].map((piece) =>
    marks.pass(piece, true),
  );
  expect(told.join("")).toBe('{"a\\"[x]":"[x]","b\\\\":"[x]","c":"[x]"}');
});

test("lists of values are no marks", () => {
  const text =
    '[[true],[ null ],[1],[-1.5e3],["x"],[],[ ],[{"a":[false]}],[1E+5],[1,2],[{}],[{},[[]]]]';
  expect(whole(text, true)).toBe(text);
});

test("a mark behind which a megabyte of blanks comes is found before the test's time is over", () => {
  const blanks = `[${" ".repeat(1_000_000)}`;
  expect(whole(`[x] ${blanks}`, true)).toBe(`"[x]" ${blanks}`);
  expect(whole(`${blanks}true${blanks.slice(1)}]`, true)).toHaveLength(2_000_006);
});
