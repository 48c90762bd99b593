/** Whom a caller asks for: what is noted of it, and what it changes nothing of. */
import { describe, expect, test } from "vitest";
import { hashToken } from "../../src/core/tokens.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { miss, someHit } from "../support/caching.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import { paints, says, scripted } from "../support/scripted.js";

const hello = { messages: [{ role: "user", content: "Hello" }] };
const auth = { mode: "token", tokens: [{ name: "app", hash: hashToken("me") }] } as const;

/** A core with models that support nothing, and what is noted of its calls. */
function noting(parts: Parameters<typeof coreOf>[2] = {}, settings = {}) {
  const records: UsageRecord[] = [];
  const lines: { user?: string; code?: string }[] = [];
  const note = (fields: object) => void lines.push(fields);
  const models = [chatModel("chat-1", { supports: [] }), imageModel("image-1", { supports: [] })];
  const backend = scripted({ chat: says("Hi"), streamTextToImage: paints(1) }, models);
  const core = coreOf(
    [backend],
    { auth, ...settings },
    {
      usage: { prices: [], sink: { keep: async (record) => void records.push(record) } },
      log: { debug: note, info: note, warn: note, error: note },
      ...parts,
    },
  );
  const noted = () => ({
    records: records.map(({ user }) => user),
    lines: lines.map(({ user }) => user),
  });
  return { core, backend, noted };
}

describe("whom a caller asks for", () => {
  test.each([
    ["chat", hello],
    ["complete", hello],
    ["countTokens", hello],
    ["textToImage", { prompt: "a cat", width: 576, height: 576 }],
    ["streamTextToImage", { prompt: "a cat" }],
  ] as const)(
    "stands in the log and in the record of %s, and no model warns of it",
    async (method, request) => {
      const { core, noted } = noting({}, { models: [{ name: "*", unsupported: "ignore" }] });
      const warned: (readonly string[])[] = [];
      for (const user of ["u-1", ""]) {
        const { code, warnings } = await outcome(core, method, { ...request, user });
        expect(code).toBe("ok");
        warned.push(warnings);
      }
      expect(warned[0]).toEqual(warned[1]);
      expect(noted()).toEqual({ records: ["u-1", undefined], lines: ["u-1", undefined] });
    },
  );

  test("is handed on to the backend as it is", async () => {
    const { core, backend } = noting();
    await outcome(core, "chat", { ...hello, user: "u-1" });
    await outcome(core, "streamTextToImage", { prompt: "a cat", user: "u-2" });
    expect(backend.asked).toMatchObject([{ user: "u-1" }, { user: "u-2" }]);
  });

  test("is no parameter that a model which rejects what it does not support could reject", async () => {
    const { core } = noting({}, { models: [{ name: "chat-1", unsupported: "reject" }] });
    expect((await outcome(core, "chat", { ...hello, user: "u-1" })).code).toBe("ok");
  });

  test("is known of calls that are refused for something else, and of one that is malformed is not", async () => {
    const { core, noted } = noting();
    const codes: string[] = [];
    for (const more of [
      { user: "u-1", temperature: 9 },
      { user: "u-2", model: "nope" },
      { user: "a\nb" },
      { user: "a".repeat(257) },
    ]) {
      codes.push((await outcome(core, "chat", { ...hello, ...more })).code);
    }
    expect(codes).toEqual([
      "invalid_fields",
      "model_not_found",
      "invalid_fields",
      "invalid_fields",
    ]);
    const users = ["u-1", "u-2", undefined, undefined];
    expect(noted()).toEqual({ records: users, lines: users });
  });

  test("is known of calls that a limit refused", async () => {
    const settings = { models: [{ model: "*", requestsPerMinute: 0 }] };
    const limits = { settings, prices: [], store: memoryLimits() };
    const { core, noted } = noting({ limits });
    const { code } = await outcome(core, "chat", { ...hello, user: "u-1" });
    expect(code).toBe("rate_limited");
    expect(noted()).toEqual({ records: ["u-1"], lines: ["u-1"] });
  });

  test("is not known of who was not let in", async () => {
    const { core, noted } = noting();
    const { code } = await outcome(core, "chat", { ...hello, user: "u-1" }, { credential: "x" });
    expect([code, noted()]).toEqual(["invalid_token", { records: [], lines: [undefined] }]);
  });
});

test("who asks the same for another gets the answer that was kept", async () => {
  const cache = { ttlMs: 3_600_000, scope: "caller", maxAnswerBytes: 1000 } as const;
  const { core, noted } = noting({ cache: memoryCache(1_000_000) }, { cache });
  const told: (string | undefined)[] = [];
  for (const user of ["u-1", "u-2", ""]) {
    const { metadata } = await outcome(core, "complete", { ...hello, user });
    told.push(metadata.get("cache-status"));
  }
  expect(told).toEqual([miss, someHit, someHit]);
  expect(noted().records).toEqual(["u-1", "u-2", undefined]);
});

test("a request with the same Idempotency-Key for another is another one", async () => {
  const store = new MemoryIdempotency({ ttlMs: 3_600_000, maxAnswerBytes: 1e6, maxBytes: 1e7 });
  const { core, noted } = noting({ idempotency: { store, lingerMs: 0 } });
  const ask = (user: string) =>
    outcome(core, "complete", { ...hello, user }, { idempotencyKey: "k" });
  const [first, again, other] = [await ask("u-1"), await ask("u-1"), await ask("u-2")];
  expect([first.code, again.code, other.code]).toEqual(["ok", "ok", "invalid_value"]);
  expect(again.metadata.get("idempotent-replayed")).toBe("true");
  // Whose it was is known of the answer that is given again, too; it was used once.
  expect(noted()).toMatchObject({ records: ["u-1"], lines: ["u-1", "u-1", undefined] });
});
