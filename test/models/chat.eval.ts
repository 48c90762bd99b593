/**
 * All held-out questions of models/chat/evaluate.py, asked through a whole gateway: `npm run eval:chat`.
 *
 * The figures in the card come from PyTorch; these come from llama.cpp, its tokenizer and the chat template.
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { file } from "../backends/llama-subject.js";
import { gateway, type Message } from "./lintel-chat.js";

interface Question {
  readonly kind: string;
  readonly system: string | null;
  readonly before: readonly (readonly [string, string])[];
  readonly ask: string;
  /** A regular expression of Python's for the whole answer. */
  readonly rule: string;
}

const questions: Question[] = JSON.parse(readFileSync(file("models/chat/held-out.json"), "utf8"));
const ask = gateway();

/** Python's leading `(?i)` as a flag of JavaScript's. */
function regular(rule: string): RegExp {
  const flags = /^\(\?([is]+)\)/.exec(rule);
  return new RegExp(flags ? rule.slice(flags[0].length) : rule, flags?.[1]);
}

async function right({ system, before, ask: content, rule }: Question): Promise<boolean> {
  const messages: Message[] = before.flatMap(([said, answered]): Message[] => [
    { role: "user", content: said },
    { role: "assistant", content: answered },
  ]);
  if (system !== null) messages.unshift({ role: "system", content: system });
  const { text, finish } = await ask([...messages, { role: "user", content }]);
  const good = finish === "stop" && regular(rule).test(text);
  if (!good) console.log(`wrong: ${JSON.stringify(content)} -> ${JSON.stringify(text)}`);
  return good;
}

/** The share of right answers to these. */
async function share(of: readonly Question[]): Promise<number> {
  let count = 0;
  for (let i = 0; i < of.length; i += 8)
    count += (await Promise.all(of.slice(i, i + 8).map(right))).filter(Boolean).length;
  return count / of.length;
}

const isSum = ({ kind }: Question) => kind === "plus" || kind === "minus";

it("at least 95% of the sums with held-out numbers", { timeout: 600_000 }, async () => {
  expect(await share(questions.filter(isSum))).toBeGreaterThanOrEqual(0.95);
});

it("at least 95% of the rephrased questions", { timeout: 600_000 }, async () => {
  expect(await share(questions.filter((q) => !isSum(q)))).toBeGreaterThanOrEqual(0.95);
});
