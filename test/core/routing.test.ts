/** Which backend answers a call. */
import { describe, expect, it } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import type { Handle } from "../../src/core/call.js";
import { messageChoice } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { fails, hello } from "../support/routing.js";
import { breaksAfter, piece, says, scripted } from "../support/scripted.js";
import { failure, models } from "./chatting.js";

describe("routing", () => {
  it("an unknown model is model_not_found, and so is one of the other operation", async () => {
    const core = coreOf([scripted({ chat: says("x") })]);
    await expect(run(core, "complete", { ...hello, model: "nope" })).rejects.toMatchObject({
      code: "model_not_found",
      param: "model",
    });
    await expect(
      run(core, "textToImage", { prompt: "x", modelId: "chat-1" }),
    ).rejects.toMatchObject({ code: "model_not_found", param: "model_id" });
  });
  it("an early failure fails over to the next backend; attempts are counted once each", async () => {
    const bad = scripted({ chat: fails("upstream_unreachable") }, models, "bad");
    const good = scripted({ chat: says("x") }, models, "good");
    expect((await run(coreOf([bad, good]), "chat", hello)).length).toBe(2);
    expect([bad.asked.length, good.asked.length]).toEqual([1, 1]);
  });
  it("after the first message nothing is repeated, and nothing glued on", async () => {
    const bad = scripted(
      { chat: breaksAfter(new LintelError("upstream_failed", "gone"), "half") },
      models,
      "bad",
    );
    const good = scripted({ chat: says("x") }, models, "good");
    await expect(run(coreOf([bad, good]), "chat", hello)).rejects.toEqual(
      failure("upstream_failed"),
    );
    expect(good.asked.length).toBe(0);
  });
  it("a whole answer lets go of what its backend holds", async () => {
    let open = 0;
    const complete: Handle<"complete"> = async function* () {
      open++;
      try {
        yield [{ ...piece(""), choices: [messageChoice("all of it", "stop")] }];
      } finally {
        open--;
      }
    };
    const core = coreOf([scripted({ complete })]);
    expect((await run(core, "complete", hello))[0]?.choices[0]?.message?.content).toBe("all of it");
    expect(open).toBe(0);
  });

  it("a request that the model server refuses is not tried elsewhere", async () => {
    const bad = scripted({ chat: fails("invalid_value") }, models, "bad");
    const good = scripted({ chat: says("x") }, models, "good");
    await expect(run(coreOf([bad, good]), "chat", hello)).rejects.toEqual(failure("invalid_value"));
  });
  it("a backend that does not know its models yet is waited for", async () => {
    let list: readonly ReturnType<typeof chatModel>[] = [];
    const late = scripted({ chat: says("x") }, [], "late", {
      models: () => list,
      ready: async () => {
        await new Promise(setImmediate);
        list = models;
      },
    });
    const [answer] = await run(coreOf([late]), "complete", { ...hello, model: "chat-1" });
    expect(answer?.model).toBe("chat-1");
    await expect(run(coreOf([late]), "complete", { ...hello, model: "nope" })).rejects.toEqual(
      failure("model_not_found"),
    );
  });
  it("of several backends that load a model, the first to have it answers", async () => {
    const state = State.LOADING;
    const broken = scripted({ chat: says("x") }, [chatModel("chat-1", { state })], "broken", {
      ready: () => Promise.reject(new LintelError("unavailable", "no memory")),
    });
    let list = [chatModel("chat-1", { state })];
    const late = scripted({ chat: says("x") }, [], "late", {
      models: () => list,
      ready: async () => {
        await new Promise(setImmediate);
        list = models;
      },
    });
    await run(coreOf([broken, late]), "complete", hello);
    expect([broken.asked.length, late.asked.length]).toEqual([0, 1]);
    await expect(run(coreOf([broken]), "complete", hello)).rejects.toEqual(failure("unavailable"));
  });
  it("a model is not called unknown while a backend that may have it can't be asked", async () => {
    const away = scripted({ chat: says("x") }, [], "away", {
      ready: () => Promise.reject(new LintelError("upstream_unreachable", "gone")),
    });
    const good = scripted({ chat: says("x") }, models, "good");
    const core = coreOf([away, good]);
    // The log has to say which one it is, and why.
    await expect(run(core, "complete", { ...hello, model: "nope" })).rejects.toMatchObject({
      code: "unavailable",
      message: "a model server that may have this model does not answer",
      cause: 'there is no model "nope"; away: gone',
    });
    await run(core, "complete", { ...hello, model: "chat-1" });
  });
  it("an alias leads to a backend's model and answers under its own name", async () => {
    const a = scripted({ chat: says("x") }, [chatModel("up")], "a");
    const b = scripted({ chat: says("x") }, [chatModel("up")], "b");
    const core = coreOf([a, b], {
      models: [{ name: "fast", model: "up", backends: ["b"] }],
      defaultModels: { chat: "fast" },
    });
    const [answer] = await run(core, "complete", hello);
    expect(answer?.model).toBe("fast");
    expect(b.asked[0]).toMatchObject({ model: "up" });
    expect(a.asked.length).toBe(0);
  });
});
