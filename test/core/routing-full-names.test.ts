/** Names that leave out what a backend's own names may, such as Ollama's tag. */
import { describe, expect, it } from "vitest";
import type { Core } from "../../src/core/core.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { failure, hello } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";

const tagging = (...ids: string[]) =>
  scripted(
    { chat: says("hi") },
    ids.map((id) => chatModel(id)),
    "a",
    {
      fullName: (name) => (name.includes(":") ? undefined : `${name}:latest`),
    },
  );

const ids = (core: Core, id = "") =>
  run(core, "listModels", { id }).then(([list]) => list?.models.map((model) => model.id));

describe("a name without its tag", () => {
  /** What the answer calls the model, and what the backend was asked for. */
  async function asked(models: ModelSettings[], model: string) {
    const a = tagging("tiny:latest", "tiny:q8");
    const core = coreOf([a], { models });
    const [answer] = await run(core, "complete", { ...hello, model });
    return [answer?.model, (a.asked[0] as { model?: string } | undefined)?.model];
  }

  it.each<[string, ModelSettings[], string, string]>([
    ["of a caller", [], "tiny", "tiny:latest"],
    ["of a target", [{ name: "x", targets: [{ backend: "a", model: "tiny" }] }], "x", "x"],
    [
      "of an entry, for targets without one of their own",
      [{ name: "x", model: "tiny", targets: [{ backend: "a" }] }],
      "x",
      "x",
    ],
    ["in the short form", [{ name: "x", model: "tiny", backends: ["a"] }], "x", "x"],
    ["of an entry", [{ name: "tiny" }], "tiny", "tiny"],
    ["of an entry's alias", [{ name: "tiny", aliases: ["y"] }], "y", "tiny"],
    ["under a wildcard", [{ name: "*", defaults: {} }], "tiny", "tiny:latest"],
    ["under one with more", [{ name: "o/*", model: "*" }], "o/tiny", "o/tiny:latest"],
  ])("leads to the model: %s", async (_, models, name, told) => {
    expect(await asked(models, name)).toEqual([told, "tiny:latest"]);
  });

  it("leads nowhere where there is no such model, and to the very one where there is", async () => {
    await expect(asked([], "big")).rejects.toEqual(failure("model_not_found"));
    await expect(asked([], "tiny:q4")).rejects.toEqual(failure("model_not_found"));
    const core = coreOf([tagging("tiny", "tiny:latest")]);
    expect((await run(core, "complete", { ...hello, model: "tiny" }))[0]?.model).toBe("tiny");
    const both = tagging("tiny", "tiny:latest");
    const models = [{ name: "x", model: "tiny" }];
    await run(coreOf([both], { models }), "complete", { ...hello, model: "x" });
    expect(both.asked).toMatchObject([{ model: "tiny" }]);
  });

  it("is one of another backend's only where that takes it", async () => {
    const plain = scripted({ chat: says("b") }, [chatModel("big:latest")], "b");
    const core = coreOf([tagging("tiny:latest"), plain]);
    await expect(run(core, "complete", { ...hello, model: "big" })).rejects.toEqual(
      failure("model_not_found"),
    );
  });

  it("is told when it is asked for, and not listed", async () => {
    const core = coreOf([tagging("tiny:latest")]);
    expect(await ids(core)).toEqual(["tiny:latest"]);
    expect(await ids(core, "tiny")).toEqual(["tiny"]);
  });

  it("of an entry's model hides that, as its full name does", async () => {
    const core = coreOf([tagging("tiny:latest")], { models: [{ name: "chat", model: "tiny" }] });
    expect(core.catalogue.leadingNowhere()).toEqual([]);
    expect(await ids(core)).toEqual(["chat"]);
    for (const model of ["tiny", "tiny:latest"]) {
      await expect(run(core, "complete", { ...hello, model })).rejects.toEqual(
        failure("model_not_found"),
      );
    }
  });

  it("is no way around an entry that is elsewhere", async () => {
    const models = [{ name: "tiny", backends: ["b"] }];
    const core = coreOf([tagging("tiny:latest"), scripted({ chat: says("b") }, [], "b")], {
      models,
    });
    await expect(run(core, "complete", { ...hello, model: "tiny" })).rejects.toEqual(
      failure("model_not_found"),
    );
  });

  it("counts as the model, for limits and tokens", async () => {
    const credential = createToken();
    const core = coreOf(
      [tagging("tiny:latest", "big:latest")],
      {
        auth: {
          mode: "token",
          tokens: [{ name: "t", hash: hashToken(credential), models: ["tiny:latest"] }],
        },
      },
      {
        limits: {
          settings: { models: [{ model: "tiny:latest", requestsPerMinute: 1 }] },
          prices: [],
          store: memoryLimits(),
        },
      },
    );
    const has = (model: string) => run(core, "complete", { ...hello, model }, { credential });
    expect((await has("tiny"))[0]?.model).toBe("tiny:latest");
    await expect(has("tiny:latest")).rejects.toEqual(failure("rate_limited"));
    await expect(has("tiny")).rejects.toEqual(failure("rate_limited"));
    await expect(has("big")).rejects.toEqual(failure("model_not_allowed"));
  });
});
