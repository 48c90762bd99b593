/** Where names of models lead. */
import { describe, expect, it } from "vitest";
import { type Model, PromptBar, State, Task } from "../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { Core } from "../../src/core/core.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import * as calls from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import { backend, bench, fails, failure, gate, hello, textOf } from "../support/routing.js";
import { paints, says, scripted } from "../support/scripted.js";

describe("names and targets", () => {
  const ids = (core: Core, token?: string) =>
    run(core, "listModels", {}, token ? { credential: token } : {}).then(([list]) =>
      list?.models.map((model) => model.id),
    );
  it.each([
    ["a gateway's default is its first model, also where that fails", {}, "first"],
    ["a node's is one that can answer", { servesGateways: true }, "second"],
  ])("%s", async (_what, settings, expected) => {
    const failed = chatModel("first", { state: State.FAILED });
    const [first, second] = [scripted({}, [failed], "a"), scripted({}, [chatModel("second")], "b")];
    const of = (...backends: Backend[]) => coreOf(backends, settings).catalogue;
    expect(of(first, second).defaultFor(Task.CHAT)).toBe(expected);
    const listed = of(first, second).list(() => true);
    expect(listed.filter((model) => model.isDefault).map(({ id }) => id)).toEqual([expected]);
    // There is no other.
    expect(of(first).defaultFor(Task.CHAT)).toBe("first");
  });
  it.each([
    [[{ name: "m" }, { name: "brief", model: "m" }], "m"],
    [
      [
        { name: "m", model: "m" },
        { name: "brief", model: "m" },
      ],
      "m",
    ],
    [[{ name: "brief", model: "m" }, { name: "m" }], "brief"],
    [[{ name: "brief", model: "m" }], "brief"],
  ])("the first of the entries %j that leads to the first model is the default", (models, name) => {
    const core = coreOf([scripted({}, [chatModel("m")], "a")], { models });
    expect(core.catalogue.defaultFor(Task.CHAT)).toBe(name);
  });
  it("models that come and go for ever leave no targets behind, but for those with calls", async () => {
    let served: readonly Model[] = [chatModel("stays")];
    const held = gate();
    const routers = scripted({ chat: held.handle }, [], "r", { models: () => served });
    const core = coreOf([routers], {});
    const targets = () => core.routing.snapshot().endpoints.map(({ model }) => model);
    const answers = ["stays", "adapter-0"].map((model) => {
      served = [chatModel("stays"), chatModel("adapter-0")];
      return run(core, "chat", { ...hello, model });
    });
    await expect.poll(() => held.begun).toBe(2);
    for (let i = 1; i <= 3000; i++) {
      served = [chatModel("stays"), chatModel(`adapter-${i}`)];
      targets();
    }
    const left = targets();
    expect(left.length).toBeLessThanOrEqual(1000);
    expect(left).toEqual(expect.arrayContaining(["adapter-0", "adapter-3000", "stays"]));
    for (const _ of answers) held.open();
    await Promise.all(answers);
  });
  it("a target has its own name for the model", async () => {
    const a = scripted({ chat: says("a") }, [chatModel("llama-3")], "a");
    const b = scripted({ chat: says("b") }, [chatModel("meta/llama")], "b");
    const targets = [
      { backend: "a", model: "llama-3" },
      { backend: "b", model: "meta/llama", priority: 1 },
    ];
    const core = coreOf([a, b], { models: [{ name: "llama", targets }] });
    expect(await textOf(run(core, "chat", { ...hello, model: "llama" }))).toBe("a");
    expect(a.asked[0]).toMatchObject({ model: "llama-3" });
  });
  it("two targets that lead a name to one place are one, of the better priority", async () => {
    const refuses = fails("upstream_failed", { retry: "elsewhere" });
    const a = scripted({ chat: refuses }, [chatModel("m")], "a");
    const b = scripted({ chat: refuses }, [chatModel("m")], "b");
    const targets = [
      { backend: "a", model: "m", priority: 2 },
      { backend: "b", model: "m", priority: 1 },
      { backend: "a", model: "*" },
    ];
    const core = coreOf([a, b], { models: [{ name: "*", targets }] });
    const answer = calls.outcome(core, "chat", { ...hello, model: "m" });
    expect((await answer).metadata.get("x-lintel-attempts")).toBe("2");
    expect([a.asked.length, b.asked.length]).toEqual([1, 1]);
    const found = core.catalogue.find("m", Task.CHAT).targets;
    expect(found.map(({ backend, tier }) => [backend.name, tier])).toEqual([
      ["a", 0],
      ["b", 1],
    ]);
  });
  it("targets have calls by their weight", async () => {
    const [a, b] = [backend("a"), backend("b")];
    const targets = [{ backend: "a" }, { backend: "b", weight: 9 }];
    const { core } = bench([a, b], {}, [{ name: "m", targets }]);
    for (let i = 0; i < 200; i++) await run(core, "chat", hello);
    expect(a.asked.length + b.asked.length).toBe(200);
    expect(Math.abs(b.asked.length / 200 - 0.9)).toBeLessThan(0.06);
  });
  it("a wildcard takes what it stands for along, the longest name wins", async () => {
    const own = scripted({ chat: says("own") }, [chatModel("gpt-4o")], "own");
    const cloud = scripted(
      { chat: says("cloud") },
      ["openai/4o", "openai/4.1", "mini"].map((id) => chatModel(id)),
      "cloud",
    );
    const models = [
      { name: "gpt-*", targets: [{ backend: "cloud", model: "openai/*" }] },
      { name: "gpt-*-mini", targets: [{ backend: "cloud", model: "mini" }] },
    ];
    const core = coreOf([own, cloud], { models });
    const at = async (model: string) => {
      cloud.asked.length = 0;
      const [answer] = await run(core, "complete", { ...hello, model });
      return [answer?.model, (cloud.asked[0] as { model?: string } | undefined)?.model];
    };
    expect(await at("gpt-4.1")).toEqual(["gpt-4.1", "openai/4.1"]);
    // What the operator wrote counts, also where a backend has the very name.
    expect(await at("gpt-4o")).toEqual(["gpt-4o", "openai/4o"]);
    expect(await at("gpt-5-mini")).toEqual(["gpt-5-mini", "mini"]);
    await expect(at("gpt-5")).rejects.toEqual(failure("model_not_found"));
    expect(await ids(core)).toEqual(["gpt-4.1", "gpt-4o"]);
  });
  describe("a model that an entry leads to under another name", () => {
    const chats = (...names: string[]) => names.map((id) => chatModel(id));
    const at = (name: string, ...names: string[]) =>
      scripted({ chat: says(name) }, chats(...names), name);
    const has = (core: Core, model: string) => run(core, "complete", { ...hello, model });
    const hidden = async (core: Core, model: string) =>
      expect(has(core, model)).rejects.toEqual(failure("model_not_found"));

    it.each([
      ["by model", { name: "small", model: "llama", backends: ["a"] }, "small"],
      ["by a target", { name: "small", targets: [{ backend: "a", model: "llama" }] }, "small"],
      ["by a wildcard", { name: "own/*", model: "ll*" }, "own/ama"],
    ])("has no other one: %s", async (_, entry, name) => {
      const core = coreOf([at("a", "llama", "free")], { models: [entry] });
      expect((await has(core, name))[0]?.model).toBe(name);
      await hidden(core, "llama");
      expect((await has(core, "free"))[0]?.model).toBe("free");
      expect(await ids(core)).toEqual(["free", name].sort());
    });
    it("has its own where an entry or an alias is called so", async () => {
      for (const models of [
        [{ name: "small", model: "llama" }, { name: "llama" }],
        [{ name: "small", model: "llama", aliases: ["llama"] }],
      ]) {
        const core = coreOf([at("a", "llama")], { models });
        const [answer] = await has(core, "llama");
        expect(answer?.model).toBe(models.length === 2 ? "llama" : "small");
        expect(await ids(core)).toEqual(["llama", "small"]);
      }
    });
    it("keeps its own at backends that no entry leads to", async () => {
      const models = [{ name: "small", model: "llama", backends: ["a"] }];
      const core = coreOf([at("a", "llama"), at("b", "llama")], { models });
      const by = (model: string) => textOf(run(core, "chat", { ...hello, model }));
      for (let i = 0; i < 5; i++) expect(await by("llama")).toBe("b");
      expect(await by("small")).toBe("a");
    });
    it("is the default under that name", async () => {
      for (const name of ["small", "any-*"]) {
        const models = [{ name, model: "llama" }];
        const core = coreOf([at("a", "llama", "free")], { models });
        expect((await has(core, ""))[0]?.model).toBe(name);
        expect(await ids(core)).toEqual(name === "small" ? ["free", "small"] : ["free"]);
      }
    });
    it("has lost its own also where a backend says only later that it has it", async () => {
      let served = chats("free");
      const late = scripted({ chat: says("late") }, [], "late", { models: () => served });
      const core = coreOf([late], { models: [{ name: "small", model: "llama" }] });
      await hidden(core, "small");
      served = chats("free", "llama");
      await hidden(core, "llama");
      expect((await has(core, "small"))[0]?.model).toBe("small");
    });
    it("is bounded by the entry's limits under every name there is", async () => {
      const core = coreOf(
        [at("a", "llama")],
        { models: [{ name: "small", model: "llama" }] },
        {
          limits: {
            settings: { models: [{ model: "small", requestsPerMinute: 1 }] },
            prices: [],
            store: memoryLimits(),
          },
        },
      );
      await has(core, "small");
      for (const name of (await ids(core)) ?? []) {
        await expect(has(core, name)).rejects.toEqual(failure("rate_limited"));
      }
      await hidden(core, "llama");
    });
  });
  it("a token's pattern does not lead through an alias that it fits by accident", async () => {
    const patterns = ["*-mini", "gpt-*", "gpt-3.5-*", "gpt-3.5-t*", "gpt-3.5-mini", "chat"];
    const secrets = patterns.map(() => createToken());
    const tokens = patterns.map((pattern, i) => {
      return { name: pattern, hash: hashToken(secrets[i] as string), models: [pattern] };
    });
    const core = coreOf([backend("a")], {
      auth: { mode: "token", tokens },
      models: [{ name: "chat", aliases: ["gpt-3.5-*"], targets: [{ backend: "a", model: "m" }] }],
    });
    const may = (model: string) =>
      Promise.all(
        secrets.map(async (credential) => {
          const asked = run(core, "complete", { ...hello, model }, { credential });
          const called = await asked.then(
            () => true,
            () => false,
          );
          // Whoever may call it sees it.
          const listed = run(core, "listModels", { id: model }, { credential });
          expect((await listed)[0]?.models).toHaveLength(called ? 1 : 0);
          return called;
        }),
      );
    expect(await may("gpt-3.5-mini")).toEqual([false, true, true, false, true, true]);
    expect(await may("gpt-3.5-turbo")).toEqual([false, true, true, true, false, true]);
    expect(await may("chat")).toEqual([false, false, false, false, false, true]);
  });
  it("an alias counts as the model, and a token may name either", async () => {
    const [any, model, alias] = [createToken(), createToken(), createToken()];
    const tokens = [
      { name: "any", hash: hashToken(any) },
      { name: "model", hash: hashToken(model), models: ["m"] },
      { name: "alias", hash: hashToken(alias), models: ["tiny"] },
    ];
    const core = coreOf([backend("a"), scripted({ chat: says("b") }, [chatModel("o")], "b")], {
      auth: { mode: "token", tokens },
      models: [{ name: "m", aliases: ["tiny", "small-*"] }],
    });
    for (const credential of [any, model, alias]) {
      const [answer] = await run(core, "complete", { ...hello, model: "tiny" }, { credential });
      expect(answer?.model).toBe("m");
    }
    await run(core, "complete", { ...hello, model: "small-one" }, { credential: model });
    await expect(
      run(core, "complete", { ...hello, model: "o" }, { credential: alias }),
    ).rejects.toEqual(failure("model_not_allowed"));
    expect(await ids(core, any)).toEqual(["m", "o", "tiny"]);
    expect(await ids(core, alias)).toEqual(["tiny"]);
  });
  it("who names none may use the default by the name that the operator gave it", async () => {
    const credential = createToken();
    for (const name of ["tiny", "small-one"]) {
      const core = coreOf([backend("a")], {
        auth: {
          mode: "token",
          tokens: [{ name: "t", hash: hashToken(credential), models: [name] }],
        },
        models: [{ name: "m", aliases: ["tiny", "small-*"] }],
        defaultModels: { chat: name },
      });
      for (const model of [name, ""]) {
        const [answer] = await run(core, "complete", { ...hello, model }, { credential });
        expect(answer?.model).toBe("m");
      }
      await expect(run(core, "complete", { ...hello, model: "m" }, { credential })).rejects.toEqual(
        failure("model_not_allowed"),
      );
    }
  });
  it("one model is told by any name that calls may use for it", async () => {
    const [any, model, alias, other] = [createToken(), createToken(), createToken(), createToken()];
    const tokens = [
      { name: "any", hash: hashToken(any) },
      { name: "model", hash: hashToken(model), models: ["m"] },
      { name: "alias", hash: hashToken(alias), models: ["gpt-3.5-*"] },
      { name: "other", hash: hashToken(other), models: ["o"] },
    ];
    const core = coreOf([backend("a")], {
      auth: { mode: "token", tokens },
      models: [
        { name: "m", aliases: ["tiny", "gpt-3.5-*"] },
        { name: "any-*", model: "m" },
      ],
    });
    const told = async (id: string, credential: string) => {
      const [list] = await run(core, "listModels", { id }, { credential });
      return list?.models.map((model) => model.id);
    };
    for (const id of ["m", "tiny", "gpt-3.5-turbo", "any-thing"]) {
      expect(await told(id, any)).toEqual([id]);
      expect(await told(id, other)).toEqual([]);
    }
    expect(await told("gpt-3.5-turbo", model)).toEqual(["gpt-3.5-turbo"]);
    expect(await told("gpt-3.5-turbo", alias)).toEqual(["gpt-3.5-turbo"]);
    expect(await told("tiny", alias)).toEqual([]);
    for (const id of ["gpt-4", "gpt-3.5-".padEnd(513, "x")])
      expect(await told(id, any)).toEqual([]);
    expect(await ids(core, any)).toEqual(["m", "tiny"]);
  });
  it("what the operator set for a model is told with it", async () => {
    const core = coreOf(
      [
        scripted(
          { chat: says("x") },
          [chatModel("m", { maxTokens: 100, contextLength: 9000 })],
          "a",
        ),
      ],
      {
        models: [
          {
            name: "set",
            model: "m",
            maxTokens: 50,
            contextLength: 8000,
            defaults: { temperature: 0.2 },
            prompt: "literal",
          },
          { name: "m", backends: ["a"] },
        ],
      },
    );
    const [list] = await run(core, "listModels", {});
    const [unspecified, promptBar] = [PromptBar.UNSPECIFIED, PromptBar.LITERAL];
    expect(list?.models).toMatchObject([
      { id: "m", maxTokens: 100, contextLength: 9000, defaults: {}, promptBar: unspecified },
      { id: "set", maxTokens: 50, contextLength: 8000, defaults: { temperature: 0.2 }, promptBar },
    ]);
  });
  describe("what a model is told to do without values is what it is asked for then", () => {
    const bounds = {
      temperature: { min: 0.1, max: 0.5 },
      top_k: { max: 40 },
      max_tokens: { max: 200 },
      num_inference_steps: { max: 10 },
      width: { max: 500 },
    };
    const told = async (model: Model, settings: Partial<CoreSettings>) => {
      const chat = says("x");
      const core = coreOf([scripted({ chat, streamTextToImage: paints() }, [model])], settings);
      const [list] = await run(core, "listModels", {});
      return list?.models[0];
    };
    it("defaults are told as bounds move them, the cap as they have it", async () => {
      expect(await told(chatModel("m"), { bounds })).toMatchObject({
        maxTokens: 200,
        defaults: { temperature: 0.5, top_k: 40, max_tokens: 200 },
      });
      expect((await told(imageModel("m"), { bounds }))?.defaults).toEqual({
        num_inference_steps: 10,
        width: 496,
      });
    });
    it("the operator's default, too, and the smaller of two caps", async () => {
      const models = [{ name: "m", maxTokens: 100, defaults: { temperature: 2, top_p: 0.9 } }];
      const model = await told(chatModel("m", { maxTokens: 300 }), { bounds, models });
      expect(model?.maxTokens).toBe(100);
      expect(model?.defaults).toEqual({
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        max_tokens: 100,
      });
    });
    it("nothing is told of what the model does not support", async () => {
      const model = await told(chatModel("m", { supports: ["top_k"] }), { bounds });
      expect(model?.defaults).toEqual({ top_k: 40 });
    });
  });
  it("where a model came from is told only where the operator wants it", async () => {
    const told = async (settings: { exposeSources?: boolean }) => {
      const model = chatModel("m", { source: "https://models.example/m.gguf" });
      const [list] = await run(coreOf([scripted({}, [model], "a")], settings), "listModels", {});
      return list?.models.map(({ source }) => source);
    };
    expect(await told({})).toEqual([""]);
    expect(await told({ exposeSources: true })).toEqual(["https://models.example/m.gguf"]);
  });
  it("a model that the operator placed is nowhere else, also while it is away there", async () => {
    const models = [{ name: "m", backends: ["b"] }];
    const core = coreOf([backend("a"), scripted({ chat: says("b") }, [], "b")], { models });
    await expect(run(core, "chat", { ...hello, model: "m" })).rejects.toEqual(
      failure("model_not_found"),
    );
  });
  it("any number of names can be asked for", async () => {
    const core = coreOf([backend("a")], { models: [{ name: "x-*", model: "m" }] });
    for (let i = 0; i < 5000; i++) core.catalogue.find(`x-${i}`, Task.CHAT);
    expect(core.routing.snapshot().endpoints.length).toBe(1);
  });
  it("a name of any length fits no wildcard: names are remembered, and told in metrics", () => {
    const core = coreOf([backend("a")], { models: [{ name: "x-*", model: "m" }] });
    const find = (length: number) => core.catalogue.find("x-".padEnd(length, "y"), Task.CHAT);
    expect(find(512).targets).toHaveLength(1);
    expect(() => find(513)).toThrow(failure("model_not_found"));
  });
  it("targets are told of though no call went there, also those that a backend has later", () => {
    let models = [chatModel("m")];
    const a = scripted({ chat: says("a") }, [], "a", { models: () => models });
    const core = coreOf([a], { models: [{ name: "x-*", model: "m-*" }] });
    const told = () => core.routing.snapshot().endpoints.map(({ model }) => model);
    expect(told()).toEqual(["m"]);
    models = [chatModel("m-1"), chatModel("n")];
    expect(told()).toEqual(["m", "m-1", "n"]);
  });
  it("what backends say anew counts at once", async () => {
    let models = [chatModel("m")];
    const late = scripted({ chat: says("late") }, [], "late", { models: () => models });
    const core = coreOf([late]);
    await run(core, "chat", { ...hello, model: "m" });
    models = [chatModel("n")];
    await run(core, "chat", { ...hello, model: "n" });
    await expect(run(core, "chat", { ...hello, model: "m" })).rejects.toEqual(
      failure("model_not_found"),
    );
  });
});
