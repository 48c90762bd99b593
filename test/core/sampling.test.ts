/** Penalties, `min_p`, `verbosity` and `logprobs` of requests: defaults, bounds, and models that lack them. */
import { describe, expect, it } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { outcome } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { hello } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";
import { saysTokens } from "../support/tokens.js";

/** Asks a core before one model. */
function asking(model: Partial<Model> = {}, settings: Partial<CoreSettings> = {}) {
  const backend = scripted({ chat: saysTokens("x") }, [chatModel("m", model)]);
  const core = coreOf([backend], settings);
  const ask = async (request: Partial<LLMRequest> = {}) => {
    const came = await outcome(core, "complete", { ...hello, ...request });
    const { code, error } = came;
    return { code, error, warnings: came.messages[0]?.warnings, asked: backend.asked.pop() };
  };
  return { ask, core };
}

const none = { frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, minP: 0 };
const untold = { logprobs: false, topLogprobs: 0, verbosity: "" };
const some = { frequencyPenalty: 1, presencePenalty: -1, repetitionPenalty: 1.1, minP: 0.05 };
const told = { logprobs: true, topLogprobs: 2, verbosity: "low" };

describe("of how tokens are chosen and told", () => {
  it("a backend gets what is asked, and else every default", async () => {
    const { ask } = asking();
    expect(await ask({ ...some, ...told })).toMatchObject({
      ...{ warnings: [], asked: { ...some, ...told } },
    });
    expect(await ask()).toMatchObject({ warnings: [], asked: { ...none, ...untold } });
  });

  it("a model that knows nothing of it is not asked, and defaults are no wish", async () => {
    const { ask } = asking({ supports: [] });
    expect(await ask({ ...none, ...untold, verbosity: "medium" })).toMatchObject({
      ...{ warnings: [], asked: { ...none, ...untold } },
    });
    const names = ["frequency_penalty", "presence_penalty", "repetition_penalty", "min_p"];
    expect(await ask({ ...some, verbosity: "low" })).toMatchObject({
      warnings: [...names, "verbosity"].map(
        (name) => `${name}: not supported by this model, ignored`,
      ),
      asked: { ...none, ...untold },
    });
  });

  it("a bias of tokens reaches a model that knows it; another is asked without, with a warning", async () => {
    const logitBias = { 50256: -100, 15: 0 };
    expect(await asking().ask({ logitBias })).toMatchObject({ warnings: [], asked: { logitBias } });
    const { ask } = asking({ supports: [] });
    expect(await ask({ logitBias })).toMatchObject({
      warnings: ["logit_bias: not supported by this model, ignored"],
    });
    expect((await ask({ logitBias })).asked).toHaveProperty("logitBias", {});
    // And one that changes nothing is no wish.
    const nothing: LLMRequest["logitBias"][] = [{}, { 15: 0 }];
    for (const none of nothing) {
      expect(await ask({ logitBias: none })).toMatchObject({ code: "ok", warnings: [] });
    }
    const strict = asking({ supports: [] }, { models: [{ name: "m", unsupported: "reject" }] });
    expect(await strict.ask({ logitBias })).toMatchObject({
      code: "unsupported_parameter",
      error: { param: "logit_bias" },
    });
  });

  it.each([undefined, "default", "reject"] as const)(
    "logprobs are not left out where the policy is %s",
    async (unsupported) => {
      const models = [{ name: "m", unsupported }];
      const { ask } = asking({ supports: ["top_logprobs"] }, { models });
      expect(await ask({ logprobs: true, topLogprobs: 2 })).toMatchObject({
        code: "unsupported_parameter",
        error: { param: "logprobs" },
      });
      expect(await ask({ logprobs: false, topLogprobs: 0 })).toMatchObject({ code: "ok" });
    },
  );

  it("logprobs are left out where the operator says so, and what goes with them", async () => {
    const models = [{ name: "m", unsupported: "ignore" as const }];
    const { ask } = asking({ supports: ["top_logprobs"] }, { models });
    expect(await ask({ logprobs: true, topLogprobs: 2 })).toMatchObject({
      warnings: [
        "logprobs: not supported by this model, ignored",
        "top_logprobs: not supported by this model, ignored",
      ],
      asked: { logprobs: false, topLogprobs: 0 },
    });
  });

  it("only one of two targets may know: it is asked", async () => {
    for (const unsupported of ["default", "ignore"] as const) {
      const plain = scripted({ chat: says("a") }, [chatModel("m", { supports: [] })], "a");
      const able = scripted({ chat: saysTokens("b") }, [chatModel("m")], "b");
      const core = coreOf([plain, able], { models: [{ name: "m", unsupported }] });
      const [answer] = await run(core, "complete", { ...hello, model: "m", logprobs: true });
      expect(answer?.warnings, unsupported).toEqual([]);
      expect(able.asked, unsupported).toHaveLength(1);
    }
  });

  it.each([
    ["frequency_penalty", { frequencyPenalty: 2.1 }, "must be from -2 to 2"],
    ["presence_penalty", { presencePenalty: -2.1 }, "must be from -2 to 2"],
    ["repetition_penalty", { repetitionPenalty: 0 }, "must be above 0 and at most 2"],
    ["min_p", { minP: 1.01 }, "must be from 0 to 1"],
    ["top_logprobs", { logprobs: true, topLogprobs: 21 }, "must be from 0 to 20"],
    ["top_logprobs", { topLogprobs: 1 }, "must be 0 where no logprobs are asked for"],
    ["verbosity", { verbosity: "loud" }, "must be one of low, medium, high"],
  ] as [string, Partial<LLMRequest>, string][])(
    "%s of %j is refused",
    async (field, request, why) => {
      const { error } = await asking().ask(request);
      expect(error).toMatchObject({
        code: "invalid_fields",
        violations: [{ field, message: why }],
      });
    },
  );

  it("the operator's defaults, and above them the caller's", async () => {
    const defaults = { repetition_penalty: 1.1, min_p: 0.05, presence_penalty: 0.5 };
    const models = [{ name: "m", defaults }];
    const { ask, core } = asking({}, { models });
    const filled = {
      repetitionPenalty: 1.1,
      minP: 0.05,
      presencePenalty: 0.5,
      frequencyPenalty: 0,
    };
    expect((await ask()).asked).toMatchObject(filled);
    expect((await ask(none)).asked).toMatchObject(filled);
    const own = { repetitionPenalty: 1.2, minP: 0.1 };
    expect((await ask(own)).asked).toMatchObject({ ...filled, ...own });
    const [list] = await run(core, "listModels", {});
    expect(list?.models).toMatchObject([{ id: "m", defaults }]);
  });

  it("the operator's defaults are nothing to a model that knows no such field", async () => {
    const defaults = { repetition_penalty: 1.1, min_p: 0.05, top_p: 0.9 };
    const bounds = { presence_penalty: { min: 0.1 } };
    const settings = { models: [{ name: "m", defaults }], bounds };
    const { ask, core } = asking({ supports: ["top_p"] }, settings);
    expect(await ask()).toMatchObject({ warnings: [], asked: { ...none, topP: 0.9 } });
    const [list] = await run(core, "listModels", {});
    expect(list?.models[0]?.defaults).toEqual({ top_p: 0.9 });
  });

  it("a model's own defaults, under the operator's", async () => {
    const model = { defaults: { min_p: 0.05, repetition_penalty: 1.3 } };
    const { ask } = asking(model, { models: [{ name: "m", defaults: { min_p: 0.1 } }] });
    expect((await ask()).asked).toMatchObject({ minP: 0.1, repetitionPenalty: 1.3 });
  });

  it("the operator's bounds, which defaults are moved into", async () => {
    const bounds = {
      ...{ min_p: { min: 0.02 }, repetition_penalty: { min: 1.05, max: 1.2 } },
      ...{ frequency_penalty: { max: 0.5 }, top_logprobs: { max: 5 } },
    };
    const { ask } = asking({}, { bounds });
    expect((await ask(none)).asked).toMatchObject({ minP: 0.02, repetitionPenalty: 1.05 });
    const beyond = { repetitionPenalty: 1.3, frequencyPenalty: 1, logprobs: true, topLogprobs: 6 };
    expect((await ask(beyond)).error?.violations?.map(({ field }) => field)).toEqual([
      ...["frequency_penalty", "repetition_penalty", "top_logprobs"],
    ]);
  });
});
