/** In which tier of a vendor's service calls run, and what they cost then. */
import { describe, expect, it } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import type { Price } from "../../src/core/limits/settings.js";
import type { ModelSettings } from "../../src/core/settings.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { chat, limited } from "../support/limits.js";
import { chatModel } from "../support/models.js";
import { hello } from "../support/routing.js";
import { breaksAfter, piece, says, scripted } from "../support/scripted.js";
import { mirroring } from "./mirroring.js";

const ignored = "service_tier: not supported by this model, ignored";

/** Says three words to a prompt of seven, and by which tier, where that is told. */
const served = (serviceTier?: string, warning?: string): Handle<"chat"> =>
  async function* (call) {
    if (warning) call.warnings.add(warning);
    yield [piece("a")];
    yield [{ ...piece("", "stop"), ...(serviceTier !== undefined && { serviceTier }) }];
    yield [{ ...piece("", "", [7, 3]), choices: [] }];
  };

const tiers: Price = {
  ...{ model: "chat-1", input: 10, output: 100 },
  tiers: { flex: { input: 5, output: 50 }, priority: { output: 200 } },
};

interface Setting {
  readonly handle?: Handle<"chat">;
  readonly prices?: readonly Price[];
  readonly model?: Partial<ModelSettings>;
  readonly supports?: string[];
}

/** Has calls made to one model with prices, and tells what became of each. */
function asking({ handle = served(), prices = [], model = {}, supports }: Setting) {
  const records: UsageRecord[] = [];
  const sink = { keep: async (record: UsageRecord) => void records.push(record) };
  const backend = scripted({ chat: handle }, [chatModel("chat-1", supports && { supports })]);
  const core = coreOf(
    [backend],
    { models: [{ name: "chat-1", ...model }] },
    { prices, usage: { sink, prices } },
  );
  return async (serviceTier: string, method: "chat" | "complete" = "complete") => {
    const request = { ...hello, model: "chat-1", serviceTier };
    const { code, error, messages } = await outcome(core, method, request);
    const last = messages.at(-1);
    return {
      ...{ code, param: error?.param, warnings: last?.warnings, told: last?.serviceTier },
      asked: (backend.asked.pop() as LLMRequest | undefined)?.serviceTier,
      spend: records.pop()?.spend,
    };
  };
}

describe("a tier of service", () => {
  it("is asked of a model that has it, and none where nobody asks for one", async () => {
    const ask = asking({});
    for (const tier of ["flex", "priority", "default", ""]) {
      expect(await ask(tier)).toMatchObject({ code: "ok", warnings: [], asked: tier });
    }
    expect(await ask("turbo")).toMatchObject({ code: "invalid_fields", asked: undefined });
  });

  it("that a model lacks is dropped, and said, and the ordinary one is no wish", async () => {
    const ask = asking({ supports: [] });
    expect(await ask("flex")).toMatchObject({ warnings: [ignored], asked: "" });
    expect(await ask("default")).toMatchObject({ warnings: [], asked: "" });
  });

  it.each([
    ["default", 370, []],
    ["flex", 185, []],
    // Its prompt costs what it does in the ordinary one.
    ["priority", 670, []],
  ])("%s has its own price where the answer does not tell", async (tier, spend, warnings) => {
    const said = await asking({ prices: [tiers] })(tier);
    expect(said).toMatchObject({ asked: tier, warnings, spend: spend * 1000 });
  });

  it.each([
    ["priority", "default", 370],
    ["priority", "standard", 370],
    ["flex", "priority", 670],
    ["", "priority", 670],
    ["", "flex", 185],
    ["flex", "constructor", 370],
  ])("has the price of the one that served it: asked %j, served %s", async (tier, told, spend) => {
    for (const method of ["chat", "complete"] as const) {
      const ask = asking({ prices: [tiers], handle: served(told) });
      expect(await ask(tier, method)).toMatchObject({ told, spend: spend * 1000 });
    }
  });

  it("that its backend goes on without has the ordinary price", async () => {
    const ask = asking({ prices: [tiers], handle: served(undefined, ignored) });
    for (const method of ["chat", "complete"] as const) {
      expect(await ask("flex", method)).toMatchObject({ warnings: [ignored], spend: 370_000 });
    }
  });

  it("is none where its word is none", async () => {
    for (const told of ["", "a b", "x".repeat(40), "\n"]) {
      const said = await asking({ prices: [tiers], handle: served(told) })("flex");
      expect(said).toMatchObject({ told: undefined, spend: 185_000 });
    }
  });

  it.each<[string, Price[], string]>([
    ["there is no price", [], "flex"],
    ["the price is another model's", [{ model: "other", input: 1 }], "flex"],
    ["the price is another target's", [{ model: "*", target: { model: "big" }, input: 1 }], "flex"],
    ["all that may be its price have it", [{ ...tiers, promptAbove: 9 }, tiers], "flex"],
    ["the price has no tiers", [{ model: "chat-*", input: 1 }], ""],
    ["the price has another tier", [{ ...tiers, tiers: { priority: {} } }], ""],
    ["the last that may be its price lacks it", [{ ...tiers, promptAbove: 9 }, { model: "*" }], ""],
    ["one that may be its price lacks it", [{ model: "*", promptAbove: 9 }, tiers], ""],
    ["the first entry alone counts", [{ model: "*", input: 1 }, tiers], ""],
  ])("is passed on, or dropped and said, where %s", async (_, prices, asked) => {
    const warnings = asked === "" ? [ignored] : [];
    expect(await asking({ prices })("flex")).toMatchObject({ code: "ok", asked, warnings });
  });

  it("without a price is refused where the operator has it so", async () => {
    const ask = asking({
      prices: [{ model: "chat-1", input: 1 }],
      model: { unsupported: "reject" },
    });
    expect(await ask("flex")).toMatchObject({
      ...{ code: "unsupported_parameter", param: "service_tier", asked: undefined },
    });
    expect(await ask("")).toMatchObject({ code: "ok" });
  });

  it("is another for each target: of that which answered, and none for its mirror", async () => {
    const away = new LintelError("upstream_unreachable", "away");
    const dear = scripted({ chat: breaksAfter(away) }, [chatModel("m")], "dear");
    const cheap = scripted({ chat: says("x") }, [chatModel("m")], "cheap");
    const prices = [{ model: "m", target: { backend: "cheap" }, output: 10 }];
    const targets = [{ backend: "dear" }, { backend: "cheap", priority: 1 }];
    const core = coreOf([dear, cheap], { models: [{ name: "m", targets }] }, { prices });
    const { messages } = await outcome(core, "complete", {
      ...hello,
      model: "m",
      serviceTier: "flex",
    });
    expect(messages[0]?.warnings).toEqual([ignored]);
    expect([dear.asked[0], cheap.asked[0]]).toMatchObject([
      { serviceTier: "flex" },
      { serviceTier: "" },
    ]);
    const mirrored = mirroring(says("b"));
    await outcome(mirrored.core, "chat", { ...hello, model: "m", serviceTier: "flex" });
    await mirrored.core.idle();
    expect(mirrored.real.asked).toMatchObject([{ serviceTier: "flex" }]);
    expect(mirrored.shadow.asked).toMatchObject([{ serviceTier: "" }]);
  });
});

describe("budgets", () => {
  const table: Price[] = [
    { model: "chat-1", output: 1000, tiers: { flex: { output: 500 }, priority: { output: 2000 } } },
  ];
  const passing = async (amount: number, serviceTier: string, told?: string) => {
    const budget = { amount, period: "month" } as const;
    const handlers = { chat: served(told) };
    const { core } = limited({ caller: { budget } }, { prices: table, handlers });
    let passed = 0;
    while ((await outcome(core, "chat", { ...chat, serviceTier })).code === "ok") passed++;
    return passed;
  };

  it("reserve the dearer of the tier that is asked for and the ordinary one", async () => {
    // 256 tokens at 0.001, or 0.002.
    expect(await passing(0.25, "")).toBe(0);
    expect(await passing(0.25, "flex")).toBe(0);
    expect(await passing(0.5, "priority")).toBe(0);
    expect(await passing(0.2561, "")).toBe(1);
    expect(await passing(0.2561, "flex")).toBe(1);
    expect(await passing(0.5121, "priority")).toBe(1);
  });

  it("are settled by the tier that served it, or else by the one that was asked for", async () => {
    // Three tokens of each: 0.003, 0.0015 and 0.006.
    const many = (reserved: number, each: number) => Math.floor((1 - reserved) / each + 1e-9) + 1;
    expect(await passing(1, "")).toBe(many(0.256, 0.003));
    expect(await passing(1, "flex")).toBe(many(0.256, 0.0015));
    expect(await passing(1, "flex", "default")).toBe(many(0.256, 0.003));
    expect(await passing(1, "priority")).toBe(many(0.512, 0.006));
    expect(await passing(1, "priority", "default")).toBe(many(0.512, 0.003));
    expect(await passing(1, "", "priority")).toBe(many(0.256, 0.006));
  });
});
