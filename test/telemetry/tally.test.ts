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
    tally.end(call, { code, firstMs: 1, totalMs: 2 });
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
