/** Quotas of tokens: how many a vendor lets a model be asked for in a minute. */
import { describe, expect, it } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { drawnImage, imagesChoice } from "../../src/core/drawn.js";
import { settled } from "../support/clock.js";
import { run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { backend, bench, failure, gate, hello, stateOf } from "../support/routing.js";
import { hangsAfter, piece, scripted } from "../support/scripted.js";
import { ask, inOrder, prompt, silent, tells } from "./quotas.js";

describe("a quota of tokens", () => {
  const quota = { tokensPerMinute: 100 };

  it("counts the prompts of calls that run, so that many at once don't go far beyond it", async () => {
    const [a, b] = [gate("a"), gate("b")];
    const all = [backend("a", a.handle), backend("b", b.handle)];
    const { core } = bench(all, {}, inOrder({ a: quota, b: {} }));
    const answers = Array.from({ length: 5 }, () => ask(core, prompt(40)));
    await settled();
    expect([a.begun, b.begun]).toEqual([3, 2]);
    expect(stateOf(core, "a").quota).toEqual({ tokens: { used: 120, limit: 100 } });
    for (const { open } of [a, a, a, b, b]) open();
    await Promise.all(answers);
  });

  it("is put right by what the server tells, once it does", async () => {
    const cases: [string, Handle<"chat">, number][] = [
      ["fewer of the prompt", tells(10, 5), 15],
      ["more of it", tells(60, 5), 65],
      ["nothing of the answer", tells(10, 0), 11],
      ["nothing of the prompt", tells(0, 5), 45],
      ["nothing at all", silent, 42],
    ];
    for (const [what, handle, used] of cases) {
      const { core } = bench([backend("a", handle)], {}, inOrder({ a: quota }));
      await ask(core, prompt(40));
      expect(stateOf(core, "a").quota?.tokens?.used, what).toBe(used);
      await run(core, "complete", { ...hello, ...prompt(40) });
      expect(stateOf(core, "a").quota?.tokens?.used, what).toBe(2 * used);
    }
  });

  it("counts of a picture about what it has", async () => {
    const drawing: Handle<"chat"> = async function* () {
      const image = drawnImage("https://images.example/a.png");
      yield [{ ...piece(""), choices: [imagesChoice([image])] }];
      yield [piece("", "stop")];
    };
    const large = { tokensPerMinute: 1000 };
    const { core } = bench([backend("a", drawing)], {}, inOrder({ a: large }));
    await ask(core, prompt(40));
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(40 + 765);
  });

  it("counts of a call that its caller left what came until then", async () => {
    const { core } = bench(
      [backend("a", hangsAfter("eight ok").handle)],
      {},
      inOrder({ a: quota }),
    );
    const leaving = new AbortController();
    const answer = run(core, "chat", { ...hello, ...prompt(40) }, { signal: leaving.signal });
    await settled();
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await settled();
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(42);
  });

  it("lets the prompt count from its begin, and the answer from its end", async () => {
    const door = gate("eight ok");
    const all = [backend("a", door.handle)];
    const { core, clock } = bench(all, {}, inOrder({ a: quota }));
    const answer = ask(core, prompt(40));
    await clock.advance(50_000);
    door.open();
    await answer;
    // As the script tells: 7 of the prompt, and 1.
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(8);
    await clock.advance(11_000);
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(1);
    await clock.advance(50_000);
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(0);
  });

  it("forgets no tokens of a call that takes longer than a minute, and gives none back twice", async () => {
    const door = gate("eight ok");
    const all = [backend("a", door.handle)];
    const { core, clock } = bench(all, {}, inOrder({ a: quota }));
    const answer = ask(core, prompt(40));
    await clock.advance(90_000);
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(0);
    door.open();
    await answer;
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(1);
  });

  it("lets a prompt go that alone is larger, and then none for a minute, the longest time that clients heed", async () => {
    const { core, clock } = bench([backend("a", silent)], {}, inOrder({ a: quota }));
    await ask(core, prompt(10));
    expect(await ask(core, prompt(500))).toBe("eight ok");
    await expect(ask(core)).rejects.toEqual(failure("unavailable", { retryAfter: 59 }));
    await clock.advance(61_000);
    expect(await ask(core)).toBe("eight ok");
  });

  it("counts no prompt that the target can't be asked", async () => {
    const small = scripted({ chat: silent }, [chatModel("m", { maxTokens: 10 })], "a");
    const { core } = bench([small, backend("b", silent)], {}, inOrder({ a: quota, b: {} }));
    expect(await ask(core, { ...prompt(40), maxTokens: 20 })).toBe("eight ok");
    expect(small.asked).toEqual([]);
    expect(stateOf(core, "a").quota?.tokens?.used).toBe(0);
  });

  it("and one of requests hold beside each other", async () => {
    const both = { requestsPerMinute: 2, tokensPerMinute: 100 };
    const { core } = bench([backend("a", silent)], {}, inOrder({ a: both }));
    await ask(core, prompt(98));
    expect(stateOf(core, "a")).toMatchObject({
      state: "used_up",
      quota: { requests: { used: 1, limit: 2 }, tokens: { used: 100, limit: 100 } },
    });
  });
});
