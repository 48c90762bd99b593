/** What the contract suite asks of chat. */
import { expect, it } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Bench } from "./contract.js";

const finishReasons = ["stop", "length", "content_filter", "tool_calls"];

/** Checks of the streamed form. */
export function chatContract(bench: Bench<"chat">): void {
  it("streams deltas, and says why it ended in the last message only", async () => {
    const messages = (await bench.run()).flat();
    const last = messages.at(-1);
    for (const message of messages) {
      expect(message.choices).toHaveLength(1);
      expect(message.choices[0]).toMatchObject({ index: 0, delta: { role: "assistant" } });
      expect(message.choices[0]?.message).toBeUndefined();
      if (message !== last) expect(message.choices[0]?.finishReason).toBe("");
    }
    expect(finishReasons).toContain(last?.choices[0]?.finishReason);
    expect(text(messages)).not.toBe("");
  });

  bench.check("usage", "reports usage in the last message", async () => {
    const messages = (await bench.run()).flat();
    expectUsage(messages.at(-1));
  });

  bench.check("distinct", "does not mix calls that run at once", async () => {
    const texts = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];
    const request = (word: string) => bench.subject().request("chat", word);
    const alone: string[] = [];
    for (const word of texts) alone.push(text((await bench.run(request(word))).flat()));
    expect(new Set(alone).size).toBeGreaterThan(1);
    const together = await Promise.all(
      texts.map(async (word) => text((await bench.run(request(word))).flat())),
    );
    expect(together).toEqual(alone);
  });

  it("keeps to max_tokens", async () => {
    const request = { ...bench.subject().request("chat"), maxTokens: 1 };
    const messages = (await bench.run(request)).flat();
    const usage = messages.at(-1)?.usage;
    if (usage) expect(usage.completionTokens).toBeLessThanOrEqual(1);
    expect(finishReasons).toContain(messages.at(-1)?.choices[0]?.finishReason);
  });
}

/** Checks of the number of tokens. */
export function countContract(bench: Bench<"countTokens">): void {
  it("counts the same for the same, and more for more", async () => {
    const count = async (text: string) => {
      const [counted] = (await bench.run(bench.subject().request("countTokens", text))).flat();
      expect(counted?.estimated).toBe(false);
      return counted?.promptTokens ?? 0;
    };
    const few = await count("hello");
    expect(few).toBeGreaterThan(0);
    expect(await count("hello")).toBe(few);
    expect(await count("hello hello hello")).toBeGreaterThan(few);
  });
}

/** Checks of the whole form. */
export function completeContract(bench: Bench<"complete">): void {
  it("answers with one whole message", async () => {
    const [message] = (await bench.run()).flat();
    expect(message?.choices).toHaveLength(1);
    const choice = message?.choices[0];
    expect(choice?.delta).toBeUndefined();
    expect(choice?.message?.role).toBe("assistant");
    expect(choice?.message?.content).not.toBe("");
    expect(finishReasons).toContain(choice?.finishReason);
  });

  bench.check("usage", "reports usage", async () => {
    const [message] = (await bench.run()).flat();
    expectUsage(message);
  });
}

/** The text of a stream. */
export function text(messages: readonly LLMResponse[]): string {
  return messages.map((message) => message.choices[0]?.delta?.content ?? "").join("");
}

function expectUsage(message: LLMResponse | undefined): void {
  const usage = message?.usage;
  expect(usage?.promptTokens).toBeGreaterThan(0);
  expect(usage?.completionTokens).toBeGreaterThan(0);
  expect(usage?.totalTokens).toBe((usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0));
}
