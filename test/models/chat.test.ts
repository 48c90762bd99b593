/** The embedded chat model, through a whole gateway: what its card claims, and what every parameter does. */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { readGgufFileInfo } from "node-llama-cpp";
import { describe, expect, it } from "vitest";
import { file, trained } from "../backends/llama-subject.js";
import { gateway, type Message } from "./lintel-chat.js";

const ask = gateway();
const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });

/** Whether no training text has the sum: the rule of `held_pair` in models/chat/corpus/arithmetic.py. */
function heldOut(sign: "+" | "-", a: number, b: number): boolean {
  const [low, high] = a < b ? [a, b] : [b, a];
  if (high < 10 || (sign === "-" && high < 20 && low < 10)) return false;
  const digest = createHash("sha256").update(`${high}${sign}${low}`).digest();
  return digest.readUInt32BE(0) / 2 ** 32 < 0.1;
}

/** Every `step`th of the held-out sums whose result is not below zero. */
function heldOutSums(sign: "+" | "-", step: number): [number, number][] {
  const all: [number, number][] = [];
  for (let a = 10; a < 100; a++)
    for (let b = 10; b <= (sign === "-" ? a : 99); b++) if (heldOut(sign, a, b)) all.push([a, b]);
  return all.filter((_, index) => index % step === 0);
}

describe("what it says", () => {
  it.each([
    ["Hello", /^(Hello|Hi)\b/],
    ["Good morning!", /^Good morning!/],
    ["How are you?", /^I am (fine|doing well|well)/],
    ["Thank you", /welcome/],
    ["Goodbye", /^(Goodbye|Bye)/],
  ])("greets and small talks: %s", async (text, rule) => {
    const reply = await ask(text);
    expect(reply.text).toMatch(rule);
    expect(reply.finish).toBe("stop");
  });

  it.each([
    ["Who are you?", /lintel-chat|Lintel's (very )?small chat model/],
    ["What is Lintel?", /Lintel is an AI gateway/],
    ["Which protocols does Lintel speak?", /gRPC.*REST and SSE/],
    ["Can I connect a bigger model?", /Ollama, vLLM, llama\.cpp/],
    ["Draw me a cat.", /text-to-image/],
  ])("knows what it is and what Lintel can do: %s", async (text, rule) => {
    expect((await ask(text)).text).toMatch(rule);
  });

  it("says that it does not know what it can't know", async () => {
    expect((await ask("Explain quantum physics.")).text).toMatch(/do not know/);
    expect((await ask("What is 4711 + 815?")).text).toMatch(/0 to 99/);
  });

  it("works out sums that were in no training text", async () => {
    const sums = [
      ...heldOutSums("+", 40).map(([a, b]) => [`What is ${a} + ${b}?`, a + b] as const),
      ...heldOutSums("-", 40).map(([a, b]) => [`What is ${a} - ${b}?`, a - b] as const),
    ];
    expect(sums.length).toBeGreaterThan(15);
    const replies = await Promise.all(sums.map(([text]) => ask(text)));
    const right = replies.filter(({ text }, i) => text.endsWith(` = ${sums[i]?.[1]}.`));
    // The full count, at least 95 of 100, is `npm run eval:chat`.
    expect(right.length / sums.length).toBeGreaterThanOrEqual(0.9);
  });

  it("counts and stops where it was asked to", async () => {
    expect((await ask("Count to 12.")).text).toBe(
      "From 1 to 12: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.",
    );
    expect((await ask("Count from 35 to 41.")).text).toBe(
      "From 35 to 41: 35, 36, 37, 38, 39, 40, 41.",
    );
    expect((await ask("Count down from 5.")).text).toBe("Down from 5 to 1: 5, 4, 3, 2, 1.");
  });

  it("tells a story about what was asked, and goes on with one", async () => {
    const told = await ask("Tell me a story about a dragon.");
    expect(told.text).toMatch(/dragon/);
    expect(told.text.match(/[.!?]/g)?.length).toBeGreaterThan(3);
    expect(told.finish).toBe("stop");
    const on = await ask("Continue the story: Mia was a brave fox.");
    expect(on.text).toMatch(/\bMia\b/);
    expect(on.finish).toBe("stop");
  });

  it("follows two or three turns", async () => {
    const turns = [user("My name is Nora."), assistant("Nice to meet you, Nora!")];
    expect((await ask([...turns, user("What is my name?")])).text).toContain("Nora");
    const sum = [user("What is 20 + 5?"), assistant((await ask("What is 20 + 5?")).text)];
    const more = await ask([...sum, user("And plus 3?")]);
    expect(more.text).toMatch(/25 \+ 3 = 28\.$/);
    const last = [...sum, user("And plus 3?"), assistant(more.text), user("Thank you")];
    expect((await ask(last)).text).toMatch(/welcome/);
  });

  it("takes its name from the system message", async () => {
    const system: Message = { role: "system", content: "You are Willow, a friendly assistant." };
    expect((await ask([system, user("Who are you?")])).text).toContain("Willow");
  });
});

describe("what the parameters do", () => {
  const story = "Tell me a story.";

  it("max_tokens cuts off rightly, and without it the answer ends by itself", async () => {
    const whole = await ask(story);
    expect(whole.finish).toBe("stop");
    const cut = await ask(story, { max_tokens: 7 });
    expect(cut).toMatchObject({ finish: "length", tokens: 7 });
    expect(whole.text.startsWith(cut.text)).toBe(true);
    // One token more than the words is enough to end: it is the end itself.
    expect((await ask("Hello", { max_tokens: (await ask("Hello")).tokens })).finish).toBe("stop");
  });

  it("temperature 0 is deterministic, whatever the seed", async () => {
    const first = await ask(story, { seed: 1 });
    expect((await ask(story, { seed: 2 })).text).toBe(first.text);
    expect((await ask(story)).text).toBe(first.text);
  });

  it("the seed repeats a draw, and another seed is another draw", async () => {
    const first = await ask(story, { temperature: 1, seed: 5 });
    expect((await ask(story, { temperature: 1, seed: 5 })).text).toBe(first.text);
    expect((await ask(story, { temperature: 1, seed: 6 })).text).not.toBe(first.text);
  });

  it("top_k 1 and a tiny top_p are the same as greedy", async () => {
    const greedy = await ask(story, { max_tokens: 40 });
    const hot = { max_tokens: 40, temperature: 2, seed: 9 };
    expect((await ask(story, { ...hot, top_k: 1 })).text).toBe(greedy.text);
    expect((await ask(story, { ...hot, top_p: 0.0001 })).text).toBe(greedy.text);
    expect((await ask(story, hot)).text).not.toBe(greedy.text);
  });

  /** Different answers among twelve. */
  async function variety(parameters: Record<string, unknown>): Promise<number> {
    const seeds = Array.from({ length: 12 }, (_, seed) => seed);
    const replies = await Promise.all(
      seeds.map((seed) => ask("Hello", { max_tokens: 12, seed, ...parameters })),
    );
    return new Set(replies.map(({ text }) => text)).size;
  }

  it("temperature, top_k and top_p widen and narrow the choice", async () => {
    const [cold, mild, hot] = [
      await variety({ temperature: 0.05 }),
      await variety({ temperature: 0.7 }),
      await variety({ temperature: 2 }),
    ];
    expect(cold).toBeLessThan(mild);
    expect(mild).toBeLessThanOrEqual(hot);
    expect(cold).toBeLessThan(hot);
    expect(await variety({ temperature: 2, top_k: 2 })).toBeLessThan(hot);
    expect(await variety({ temperature: 2, top_p: 0.2 })).toBeLessThan(hot);
  });
});

describe("the file", () => {
  it("is Llama in GGUF, of at most 10 MB, with its chat template and its license", async () => {
    expect(statSync(trained).size).toBeLessThan(10_000_000);
    const { metadata } = await readGgufFileInfo(trained, { logWarnings: false });
    expect(metadata.general).toMatchObject({ architecture: "llama", license: "Apache-2.0" });
    expect(metadata.tokenizer).toMatchObject({ ggml: { model: "gpt2" } });
    expect(metadata.tokenizer.chat_template).toContain("add_generation_prompt");
  });

  it("has a card with the figures of its evaluation", () => {
    const figures = JSON.parse(readFileSync(file("models/chat/evaluation.json"), "utf8"));
    const card = readFileSync(file("models/chat/README.md"), "utf8");
    expect(figures.held_out_sums).toBeGreaterThanOrEqual(0.95);
    expect(figures.held_out_questions).toBeGreaterThanOrEqual(0.95);
    expect(figures.held_out_found_in_training).toBe(0);
    for (const share of [figures.held_out_sums, figures.held_out_questions])
      expect(card).toContain(`**${(share * 100).toFixed(1)}%**`);
    for (const [kind, counts] of Object.entries<string>(figures.kinds))
      expect(card).toContain(`| ${kind} | ${counts.replace(" of ", " | ")} |`);
  });
});
