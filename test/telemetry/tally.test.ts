/** What `lintel top` counts of each model. */
import { expect, test } from "vitest";
import { Tally } from "../../src/telemetry/tally.js";
import { imageRequest } from "../backends/picture.js";
import { callOf } from "../backends/subject.js";

test("calls count by how they ended, and what they used counts once", () => {
  const tally = new Tally(() => 0);
  const used = { promptTokens: 3, completionTokens: 5, images: 2 };
  const end = (code: "ok" | "cancelled" | "unavailable", more: object = {}) => {
    const call = callOf("streamTextToImage", imageRequest());
    Object.assign(call.attributes, { model: "m", ...used, ...more });
    tally.end(call, { code, firstMs: 1, totalMs: 2, endedAt: 2 });
  };
  end("ok");
  end("ok", { replayed: true });
  end("ok", { cache: "hit" });
  end("cancelled", { cache: "hit" });
  end("ok", { cache: "miss" });
  end("unavailable");
  end("cancelled");
  end("ok", { model: "l", images: undefined });
  // A name that callers make up is the wildcard's.
  end("ok", { model: "gpt-9", countedAs: "gpt-*" });
  expect(tally.snapshot()).toMatchObject([
    { model: "gpt-*", requests: 1 },
    { model: "l", requests: 1, failed: 0, cancelled: 0, images: 0 },
    {
      ...{ model: "m", requests: 7, failed: 1, cancelled: 2, cacheHits: 1 },
      // Neither what was kept nor what was given again is an answer that a model made.
      ...{ answers: 2, answerTokens: 10 },
      ...{ promptTokens: 12, completionTokens: 20, images: 8 },
    },
  ]);
});

/** Tells a tally of a call that went well. */
function ended(tally: Tally, model: string, completionTokens = 0) {
  const call = callOf("streamTextToImage", imageRequest());
  Object.assign(call.attributes, { model, completionTokens });
  tally.end(call, { code: "ok", firstMs: 1, totalMs: 2, endedAt: 2 });
}

test("rates are of the last ten seconds, or of as many as there were, one at least", () => {
  let now = 700;
  const tally = new Tally(() => now);
  const rates = () => tally.snapshot().map((of) => [of.requestRate, of.tokenRate]);
  for (let i = 0; i < 2; i++) ended(tally, "m", 30);
  now += 500;
  expect(rates()).toEqual([[2, 60]]);
  now += 3500;
  expect(rates()).toEqual([[0.5, 15]]);
  now += 60_000;
  ended(tally, "m", 30);
  expect(rates()).toEqual([[0.1, 3]]);
});

test("of any number of models a thousand are told apart; what no model is asked for is none of them", () => {
  const tally = new Tally(() => 0);
  for (let i = 0; i < 1002; i++) ended(tally, `m-${i}`);
  const list = callOf("streamTextToImage", imageRequest());
  tally.end({ ...list, method: "listModels" } as never, {
    code: "ok",
    firstMs: undefined,
    totalMs: 1,
    endedAt: 1,
  });
  const told = tally.snapshot();
  expect(told).toHaveLength(1001);
  expect(told[0]).toMatchObject({ model: "", requests: 2 });
});
