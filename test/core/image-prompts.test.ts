/** What becomes one image each: prompts, negative prompts, seeds. */
import { describe, expect, it } from "vitest";
import { PromptBar } from "../../gen/lintel/v1/models_pb.js";
import { coreOf, run } from "../support/core.js";
import { imageModel } from "../support/models.js";
import { paints, scripted } from "../support/scripted.js";
import { failure, jobs, painter } from "./painter.js";

describe("prompts with |", () => {
  it("are a batch: trimmed, blanks dropped, each num_images_per_prompt times, prompt by prompt", async () => {
    const backend = painter();
    const [answer] = await run(coreOf([backend]), "textToImage", {
      prompt: " a | | b ",
      numImagesPerPrompt: 2,
      seed: 10n,
    });
    expect(jobs(backend)).toEqual([
      ["a", "", 10, 2],
      ["b", "", 12, 2],
    ]);
    expect(answer?.images.map((m) => m.seed)).toEqual([10, 11, 12, 13]);
  });
  it("after the first go on with what is begun", async () => {
    const begun: unknown[] = [];
    const backend = scripted(
      {
        streamTextToImage(call) {
          begun.push(call.begun);
          return paints(1)(call);
        },
      },
      [imageModel("image-1")],
    );
    await run(coreOf([backend]), "textToImage", { prompt: "a | b | c" });
    expect(begun).toEqual([false, true, true]);
  });
  it.each([PromptBar.LITERAL, PromptBar.ENCODERS])(
    "are passed on where the model reads them itself (%s)",
    async (promptBar) => {
      const backend = painter(imageModel("image-1", { promptBar }));
      await run(coreOf([backend]), "textToImage", {
        prompt: "a | b",
        negativePrompt: "c | d | e",
        seed: 1n,
      });
      expect(jobs(backend)).toEqual([["a | b", "c | d | e", 1, 1]]);
    },
  );
  it("the operator's word for a model goes before the model's", async () => {
    const backend = painter();
    const core = coreOf([backend], { models: [{ name: "image-1", prompt: "literal" }] });
    await run(core, "textToImage", { prompt: "a | b", seed: 1n });
    expect(jobs(backend)).toEqual([["a | b", "", 1, 1]]);
  });
  it("is no bar, where all of it is the prompt", async () => {
    const backend = painter(imageModel("image-1", { promptBar: PromptBar.LITERAL }));
    const core = coreOf([backend]);
    await run(core, "textToImage", { prompt: "|", seed: 1n });
    expect(jobs(backend)).toEqual([["|", "", 1, 1]]);
    await expect(run(core, "textToImage", { prompt: "  " })).rejects.toEqual(
      failure("invalid_value", "prompt"),
    );
    const encoders = coreOf([painter(imageModel("image-1", { promptBar: PromptBar.ENCODERS }))]);
    await expect(run(encoders, "textToImage", { prompt: "|" })).rejects.toEqual(
      failure("invalid_value", "prompt"),
    );
  });
  it("all blank is a 400, a missing prompt a 422, too many a 422", async () => {
    const core = coreOf([painter()]);
    await expect(run(core, "textToImage", { prompt: " | |" })).rejects.toEqual(
      failure("invalid_value", "prompt"),
    );
    await expect(run(core, "textToImage", { prompt: "" })).rejects.toEqual(
      failure("invalid_value", "prompt"),
    );
    await expect(run(core, "textToImage", {})).rejects.toEqual(failure("invalid_fields", "prompt"));
    await expect(run(core, "textToImage", { prompt: "a|b|c|d|e" })).rejects.toEqual(
      failure("invalid_fields", "prompt"),
    );
  });
});

describe("negative_prompt", () => {
  it("is one for all, or as many as prompts, else a 400; ignored below guidance 1", async () => {
    const backend = painter();
    const core = coreOf([backend]);
    await run(core, "textToImage", { prompt: "a|b", negativePrompt: "x", seed: 1n });
    await run(core, "textToImage", { prompt: "a|b", negativePrompt: "x|y", seed: 1n });
    await run(core, "textToImage", {
      prompt: "a",
      negativePrompt: "x",
      seed: 1n,
      guidanceScale: 0.5,
    });
    expect(jobs(backend).map((j) => j[1])).toEqual(["x", "x", "x", "y", ""]);
    await expect(
      run(core, "textToImage", { prompt: "a|b|c", negativePrompt: "x|y" }),
    ).rejects.toEqual(failure("invalid_value", "negative_prompt"));
  });
  it("are ignored below guidance 1 also for a model that takes no guidance", async () => {
    const supports = ["negative_prompt", "seed"];
    const backend = painter(imageModel("image-1", { supports }));
    const asked = { prompt: "a", negativePrompt: "x|y", seed: 1n, guidanceScale: 0.5 };
    await run(coreOf([backend]), "textToImage", asked);
    expect(jobs(backend).map((j) => j[1])).toEqual([""]);
  });
  it.each([
    ["a|b", "|y", ["", "y"]],
    ["a|b", "x| ", ["x", ""]],
    ["a| |c", "x|y|z", ["x", "z"]],
    ["a| |c", "x|y", ["x", "y"]],
    ["a|b", "x||y", ["x", "y"]],
    ["a|b|c", " |y", ["y", "y", "y"]],
  ])("of %j and %j are paired by their places", async (prompt, negativePrompt, paired) => {
    const backend = painter();
    await run(coreOf([backend]), "textToImage", { prompt, negativePrompt });
    expect(jobs(backend).map((j) => j[1])).toEqual(paired);
  });
  it("is ignored where a default of guidance is below 1, the model's or the operator's", async () => {
    const models = [{ name: "image-1", defaults: { guidance_scale: 0 } }];
    const asked = { prompt: "a", negativePrompt: "x" };
    for (const [of, settings] of [
      [imageModel("image-1"), { models }],
      [imageModel("image-1", { defaults: { guidance_scale: 0 } }), {}],
    ] as const) {
      const backend = painter(of);
      const core = coreOf([backend], settings);
      await run(core, "textToImage", asked);
      await run(core, "textToImage", { ...asked, guidanceScale: 2 });
      // However many there are.
      const two = { prompt: "a", negativePrompt: "x|y" };
      await run(core, "textToImage", two);
      expect(jobs(backend).map((j) => j[1])).toEqual(["", "x", ""]);
      await expect(run(core, "textToImage", { ...two, guidanceScale: 2 })).rejects.toEqual(
        failure("invalid_value", "negative_prompt"),
      );
    }
  });
});

describe("seeds", () => {
  it("absent and -1 are random from 0 to 2^32-1", async () => {
    const backend = painter();
    const core = coreOf([backend]);
    for (const seed of [undefined, -1n]) await run(core, "textToImage", { prompt: "a", seed });
    const seeds = jobs(backend).map((j) => j[2] as number);
    expect(seeds[0]).not.toBe(seeds[1]);
    expect(seeds.every((s) => s >= 0 && s < 2 ** 32)).toBe(true);
  });
  it("image i uses and reports seed + i modulo 2^32, also for a model that makes one at a time", async () => {
    for (const supports of [["seed", "num_images_per_prompt"], ["seed"]]) {
      const core = coreOf([painter(imageModel("image-1", { supports }))]);
      const [answer] = await run(core, "textToImage", {
        prompt: "a",
        seed: 4294967295n,
        numImagesPerPrompt: 3,
      });
      expect(answer?.images.map((m) => m.seed)).toEqual([4294967295, 0, 1]);
    }
  });
  it("a reported seed and one image give the same picture", async () => {
    const core = coreOf([painter()]);
    const [first] = await run(core, "textToImage", { prompt: "a", numImagesPerPrompt: 3 });
    const [again] = await run(core, "textToImage", {
      prompt: "a",
      seed: BigInt(first?.images[2]?.seed ?? 0),
    });
    expect(
      Buffer.compare(
        first?.images[2]?.data ?? Buffer.of(1),
        again?.images[0]?.data ?? Buffer.of(2),
      ),
    ).toBe(0);
  });
});
