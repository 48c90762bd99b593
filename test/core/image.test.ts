import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { PromptBar } from "../../gen/lintel/v1/models_pb.js";
import type { CallSignal } from "../../src/core/cancellation.js";
import { LintelError } from "../../src/core/errors.js";
import { doneEvent, imageEvent, inlineImage, noSeed } from "../../src/core/image-events.js";
import type { MediaStore } from "../../src/core/media.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { coreOf, run } from "../support/core.js";
import { imageModel } from "../support/models.js";
import { stateOf } from "../support/routing.js";
import { paints, png, scripted } from "../support/scripted.js";

const painter = (model = imageModel("image-1"), nsfw = false) =>
  scripted({ streamTextToImage: paints(2, { nsfw }) }, [model]);
const failure = (code: string, param?: string) =>
  expect.objectContaining({ code, ...(param && { param }) });

/** What is asked of each job that reaches a backend. */
const jobs = (backend: ReturnType<typeof painter>) =>
  backend.asked.map((r) => {
    if (r.$typeName !== "lintel.v1.TextToImageRequest") throw new Error("not an image request");
    return [r.prompt, r.negativePrompt, Number(r.seed), r.numImagesPerPrompt];
  });

it.each([1, 2 ** 31 - 1, -1])(
  "an image in place %i, for which nobody asked, is a failure of the model server",
  async (index) => {
    const backend = scripted({
      async *streamTextToImage() {
        yield [imageEvent(index, inlineImage(png(1), 1, {})), doneEvent([])];
      },
    });
    for (const method of ["textToImage", "streamTextToImage"] as const) {
      await expect(run(coreOf([backend]), method, { prompt: "a cat" })).rejects.toEqual(
        failure("upstream_failed"),
      );
    }
  },
);

it("the same place twice is not all images", async () => {
  const backend = scripted({
    async *streamTextToImage() {
      yield [1, 2].map((seed) => imageEvent(0, inlineImage(png(seed), seed, {})));
      yield [doneEvent([])];
    },
  });
  const asked = run(coreOf([backend]), "textToImage", { prompt: "a cat", numImagesPerPrompt: 2 });
  await expect(asked).rejects.toEqual(failure("upstream_failed"));
});

describe("decisions 2: prompts with |", () => {
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

describe("decisions 2: negative_prompt", () => {
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
      expect(jobs(backend).map((j) => j[1])).toEqual(["", "x"]);
    }
  });
});

describe("decisions 2: seeds", () => {
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

describe("decisions 2: defaults", () => {
  it("are moved into the operator's bounds, to what the contract allows there", async () => {
    const bounds = {
      num_inference_steps: { max: 30 },
      width: { max: 500 },
      height: { min: 580, max: 600 },
    };
    const asked = { numInferenceSteps: 30, width: 496, height: 584 };
    const quick = imageModel("image-1", { defaults: { num_inference_steps: 4 } });
    for (const [backend, steps] of [
      [painter(), {}] as const,
      [painter(quick), { numInferenceSteps: 4 }] as const,
    ]) {
      await run(coreOf([backend], { bounds }), "textToImage", { prompt: "a" });
      expect(backend.asked[0]).toMatchObject({ ...asked, ...steps });
    }
  });
  it("of a size hold for both of its sides, or for the one that is not said", async () => {
    const small = imageModel("image-1", { defaults: { width: 512, height: 512 } });
    for (const [said, size] of [
      [{}, [512, 512]],
      [{ width: 1024, height: 576 }, [512, 512]],
      [{ width: 1024 }, [512, 512]],
      [{ height: 576 }, [512, 512]],
      [{ width: 1024, height: 1024 }, [1024, 1024]],
      [{ width: 576, height: 576 }, [576, 576]],
      [{ width: 256 }, [256, 512]],
    ] as const) {
      const backend = painter(small);
      await run(coreOf([backend]), "textToImage", { prompt: "a", ...said });
      expect(backend.asked).toMatchObject([{ width: size[0], height: size[1] }]);
    }
    const core = coreOf([painter()], { bounds: { width: { max: 768 } } });
    await run(core, "textToImage", { prompt: "a", width: 1024, height: 576 });
    await expect(
      run(core, "textToImage", { prompt: "a", width: 1024, height: 512 }),
    ).rejects.toMatchObject({ code: "invalid_fields", violations: [{ field: "width" }] });
  });
});

describe("decisions 2: loras", () => {
  it("reach the model as given", async () => {
    const backend = painter();
    await run(coreOf([backend]), "textToImage", { prompt: "a", loras: '{"style": 0.5}' });
    expect(backend.asked[0]).toMatchObject({ loras: '{"style": 0.5}' });
  });
  it.each(["{}", " { } ", " "])(
    "%j asks for none, also of a model that knows none",
    async (loras) => {
      for (const backend of [painter(), painter(imageModel("image-1", { supports: [] }))]) {
        const [answer] = await run(coreOf([backend]), "textToImage", { prompt: "a", loras });
        expect(answer?.images).toHaveLength(1);
        expect(backend.asked[0]).toMatchObject({ loras: "" });
      }
    },
  );
  it("are as many as the operator allows", async () => {
    const core = coreOf([painter()], { bounds: { loras: { max: 1 } } });
    await run(core, "textToImage", { prompt: "a", loras: '{"style": 0.5}' });
    await expect(
      run(core, "textToImage", { prompt: "a", loras: '{"style": 0.5, "other": 1}' }),
    ).rejects.toEqual(failure("invalid_value", "loras"));
  });
  it.each([
    "x",
    "[]",
    "3",
    '"a"',
    "null",
    '{"a":"b"}',
    '{"a":-1}',
    '{"":1}',
    '{"a":1,"b":1,"c":1,"d":1,"e":1}',
  ])("%s is a 400 that names loras", async (loras) => {
    await expect(run(coreOf([painter()]), "textToImage", { prompt: "a", loras })).rejects.toEqual(
      failure("invalid_value", "loras"),
    );
  });
});

describe("decisions 2: a parameter that the model does not support", () => {
  const limited = () => painter(imageModel("image-1", { supports: [] }));
  it("is dropped with a warning if it only tunes", async () => {
    const [answer] = await run(coreOf([limited()]), "textToImage", {
      prompt: "a",
      guidanceScale: 3,
      numInferenceSteps: 5,
      negativePrompt: "x",
      safetyCheck: false,
    });
    expect(answer?.warnings.map((w) => w.split(":")[0]).sort()).toEqual([
      "guidance_scale",
      "negative_prompt",
      "num_inference_steps",
    ]);
  });
  it.each([{ loras: '{"a":1}' }, { width: 512 }, { height: 512 }])(
    "is a 400 if it changes the result: %o",
    async (change) => {
      await expect(
        run(coreOf([limited()]), "textToImage", { prompt: "a", ...change }),
      ).rejects.toEqual(failure("unsupported_parameter", Object.keys(change)[0]));
    },
  );
  describe("and what a server makes otherwise without a word", () => {
    const odd = () =>
      scripted(
        {
          async *streamTextToImage() {
            yield [imageEvent(0, inlineImage(png(99, 64, 72), 99))];
            yield [doneEvent([])];
          },
        },
        [imageModel("image-1")],
      );
    it.each([
      [{ width: 512 }, "width", "width: the model server made 64x72"],
      [{ height: 512 }, "height", "height: the model server made 64x72"],
      [{ width: 64, height: 512 }, "height", "height: the model server made 64x72"],
      [{ width: 1024, height: 72 }, "width", "width: the model server made 64x72"],
      [{ seed: 5n }, "seed", "seed: the model server used another"],
    ])("is a 400 for who asked: %o", async (asked, param, message) => {
      const request = { prompt: "a", safetyCheck: false, ...asked };
      await expect(run(coreOf([odd()]), "textToImage", request)).rejects.toMatchObject({
        ...{ code: "unsupported_parameter", param, message },
      });
      const settings = { models: [{ name: "image-1", unsupported: "ignore" as const }] };
      const [answer] = await run(coreOf([odd()], settings), "textToImage", request);
      expect(answer?.warnings).toEqual([message]);
      expect(answer?.images[0]?.seed).toBe(99);
    });
    it.each([5_000_000_000, 2 ** 32, 0.5, -2, Number.NaN])(
      "is no answer at all with a seed of %d",
      async (seed) => {
        const backend = scripted({
          async *streamTextToImage() {
            yield [imageEvent(0, inlineImage(png(1), seed)), doneEvent([])];
          },
        });
        await expect(
          run(coreOf([backend]), "textToImage", { prompt: "a", safetyCheck: false }),
        ).rejects.toMatchObject({ code: "upstream_failed" });
      },
    );
    it("also where a backend learns only then that its model takes no seed", async () => {
      const unaware = scripted(
        {
          async *streamTextToImage() {
            yield [imageEvent(0, inlineImage(png(1), noSeed)), doneEvent([])];
          },
        },
        [imageModel("image-1")],
      );
      const core = coreOf([unaware]);
      const request = { prompt: "a", safetyCheck: false };
      await expect(run(core, "textToImage", { ...request, seed: 0n })).rejects.toMatchObject({
        ...{ param: "seed", message: "seed: this model does not support it" },
      });
      const [answer] = await run(core, "textToImage", request);
      const warnings = ["seed: this model takes none, 0 stands for that"];
      expect(answer).toMatchObject({ images: [{ seed: 0 }], warnings });
    });
    it("is told truly to who did not ask", async () => {
      for (const asked of [
        {},
        { width: 1024 },
        { height: 576 },
        { width: 1024, height: 576, seed: -1n },
        { width: 64 },
      ]) {
        const request = { prompt: "a", safetyCheck: false, ...asked };
        const [answer] = await run(coreOf([odd()]), "textToImage", request);
        expect(answer?.images[0]?.seed).toBe(99);
        expect(answer?.warnings).toEqual([]);
      }
    });
  });
  it("previews are dropped with a warning, and only if they were asked for", async () => {
    const request = { prompt: "a", safetyCheck: false };
    const warnings = async (includePreviews: boolean, supports: string[]) => {
      const core = coreOf([painter(imageModel("image-1", { supports }))]);
      const events = await run(core, "streamTextToImage", { ...request, includePreviews });
      const { event: last } = events.at(-1) ?? {};
      return last?.case === "done" ? last.value.warnings : undefined;
    };
    expect(await warnings(false, [])).toEqual([]);
    expect(await warnings(true, ["include_previews"])).toEqual([]);
    expect(await warnings(true, [])).toEqual([
      "include_previews: not supported by this model, ignored",
    ]);
  });
  it("as is a seed; a default value counts as not set", async () => {
    await expect(
      run(coreOf([limited()]), "textToImage", { prompt: "a", seed: 5n }),
    ).rejects.toEqual(failure("unsupported_parameter", "seed"));
    const [answer] = await run(coreOf([limited()]), "textToImage", {
      prompt: "a",
      seed: -1n,
      width: 1024,
      height: 576,
      loras: "",
      numInferenceSteps: 50,
      safetyCheck: false,
    });
    expect(answer?.warnings).toEqual([]);
  });
  it("the operator may choose ignore or reject", async () => {
    const core = (unsupported: "ignore" | "reject") =>
      coreOf([limited()], { models: [{ name: "image-1", unsupported }] });
    const [answer] = await run(core("ignore"), "textToImage", {
      prompt: "a",
      width: 512,
      safetyCheck: false,
    });
    expect(answer?.warnings).toEqual(["width: not supported by this model, ignored"]);
    await expect(
      run(core("reject"), "textToImage", { prompt: "a", guidanceScale: 3 }),
    ).rejects.toEqual(failure("unsupported_parameter", "guidance_scale"));
  });
});

describe("decisions 2: nsfw", () => {
  const checker = { isHarmful: async () => true };
  it("without a checker is false, with a warning; no warning if no check was asked for", async () => {
    const [answer] = await run(coreOf([painter()]), "textToImage", { prompt: "a" });
    expect(answer?.images[0]?.nsfw).toBe(false);
    expect(answer?.warnings.join()).toMatch(/safety_check/);
    const [quiet] = await run(coreOf([painter()]), "textToImage", {
      prompt: "a",
      safetyCheck: false,
    });
    expect(quiet?.warnings).toEqual([]);
  });
  it("flagged images are returned, flagged; blurred or blocked where the operator says so", async () => {
    const [flagged] = await run(coreOf([painter()], {}, { checker }), "textToImage", {
      prompt: "a",
      seed: 1n,
    });
    expect(flagged?.images[0]).toMatchObject({ nsfw: true });
    expect(Buffer.from(flagged?.images[0]?.data ?? []).equals(png(1))).toBe(true);
    const blur = async () => Buffer.from("blurred");
    const [blurred] = await run(
      coreOf([painter()], { safetyAction: "blur" }, { checker, blur }),
      "textToImage",
      { prompt: "a" },
    );
    expect(Buffer.from(blurred?.images[0]?.data ?? []).toString()).toBe("blurred");
    await expect(
      run(coreOf([painter()], { safetyAction: "block" }, { checker }), "textToImage", {
        prompt: "a",
      }),
    ).rejects.toEqual(failure("content_blocked"));
  });
  it("what is refused ends the work on further images", async () => {
    for (const timeouts of [undefined, { firstToken: 60_000 }]) {
      const signals: CallSignal[] = [];
      const backend = scripted({
        streamTextToImage: async function* (call) {
          signals.push(call.signal);
          yield* paints(1)(call);
        },
      });
      const models = [{ name: "image-1", timeouts }];
      const core = coreOf([backend], { safetyAction: "block", models }, { checker });
      const asked = run(core, "textToImage", { prompt: "a", numImagesPerPrompt: 4 });
      await expect(asked).rejects.toEqual(failure("content_blocked"));
      expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
      expect(stateOf(core, "scripted", "image-1")).toMatchObject({ inFlight: 0, failures: 0 });
    }
  });
  it("a checker that fails refuses the images, or lets them pass with a warning", async () => {
    const failing = {
      isHarmful: () => Promise.reject(new LintelError("upstream_failed", "the server failed")),
    };
    const ask = (settings: Partial<CoreSettings>) =>
      run(coreOf([painter()], settings, { checker: failing }), "textToImage", { prompt: "a" });
    await expect(ask({})).rejects.toMatchObject({
      code: "unavailable",
      message: "the safety check can't be done now",
    });
    const [answer] = await ask({ safetyOnFailure: "open" });
    expect(answer?.images[0]?.nsfw).toBe(false);
    expect(answer?.warnings).toEqual([
      "safety_check: the checker failed, not all images were checked",
    ]);
  });
  it("a checker that fails is no fault of who made the images", async () => {
    const isHarmful = () => Promise.reject(new LintelError("upstream_failed", "it failed"));
    const core = coreOf([painter()], {}, { checker: { isHarmful } });
    for (let i = 0; i < 5; i++) {
      await run(core, "textToImage", { prompt: "a" }).catch(() => {});
    }
    expect(stateOf(core, "scripted", "image-1")).toMatchObject({ state: "in", failures: 0 });
    await run(core, "textToImage", { prompt: "a", safetyCheck: false });
  });

  it("safety_check: false runs no checker", async () => {
    const [answer] = await run(coreOf([painter()], {}, { checker }), "textToImage", {
      prompt: "a",
      safetyCheck: false,
    });
    expect(answer?.images[0]?.nsfw).toBe(false);
  });
  it("a model's own check counts, with a checker or without", async () => {
    const blind = { isHarmful: async () => false };
    const own = coreOf(
      [painter(imageModel("image-1", { supports: ["safety_check"] }), true)],
      {},
      { checker: blind },
    );
    const [both] = await run(own, "textToImage", { prompt: "a" });
    expect(both?.images[0]?.nsfw).toBe(true);

    const [answer] = await run(
      coreOf([painter(imageModel("image-1", { supports: ["safety_check"] }), true)]),
      "textToImage",
      { prompt: "a" },
    );
    expect(answer?.images[0]?.nsfw).toBe(true);
    expect(answer?.warnings).toEqual([]);
  });
});

describe("decisions 2: images", () => {
  const store = (): MediaStore & { kept: Map<string, Uint8Array> } => {
    const kept = new Map<string, Uint8Array>();
    return {
      kept,
      put: async (data) => {
        kept.set(`${kept.size}.png`, data);
        return `http://media.test/${kept.size - 1}.png`;
      },
      get: async () => undefined,
      delete: async () => {},
      close: async () => {},
    };
  };
  it("are stored and answered by URL; inline only where asked for", async () => {
    const media = store();
    const [answer] = await run(coreOf([painter()], {}, { media }), "textToImage", {
      prompt: "a",
      seed: 3n,
    });
    expect(answer?.images[0]).toMatchObject({
      url: "http://media.test/0.png",
      seed: 3,
      mimeType: "image/png",
    });
    expect(answer?.images[0]?.data.length).toBe(0);
    expect(PNG.sync.read(Buffer.from(media.kept.get("0.png") ?? [])).width).toBe(8);
    const [inline] = await run(coreOf([painter()], {}, { media }), "textToImage", {
      prompt: "a",
      includeData: true,
    });
    expect(inline?.images[0]?.data.length).toBeGreaterThan(0);
  });
  it("that are broken are held against who made them", async () => {
    const sanitize = () => {
      throw new LintelError("upstream_failed", "the model server made a broken image");
    };
    const core = coreOf([painter()], {}, { sanitize });
    await expect(run(core, "textToImage", { prompt: "a" })).rejects.toEqual(
      failure("upstream_failed"),
    );
    expect(stateOf(core, "scripted", "image-1")).toMatchObject({ inFlight: 0, failures: 1 });
  });
  it("are sanitized before anyone sees them", async () => {
    const sanitize = () => Buffer.from("clean");
    const [answer] = await run(coreOf([painter()], {}, { sanitize }), "textToImage", {
      prompt: "a",
    });
    expect(Buffer.from(answer?.images[0]?.data ?? []).toString()).toBe("clean");
  });
  it("one of several that fails, or is missing, fails the whole request", async () => {
    const backend = scripted({
      async *streamTextToImage(call) {
        for await (const batch of paints(1)({
          ...call,
          request: { ...call.request, numImagesPerPrompt: 1 },
        })) {
          yield batch;
        }
      },
    });
    await expect(
      run(coreOf([backend]), "textToImage", { prompt: "a", numImagesPerPrompt: 2 }),
    ).rejects.toEqual(failure("upstream_failed"));
  });
  it("the stream tells progress over the whole request, then each image, then done", async () => {
    const events = await run(coreOf([painter()]), "streamTextToImage", {
      prompt: "a|b",
      numImagesPerPrompt: 1,
      seed: 1n,
    });
    expect(
      events.map(({ event: e }) =>
        e.case === "progress"
          ? `${e.value.index}/${e.value.images} ${e.value.step}/${e.value.steps}`
          : e.case === "image"
            ? `image ${e.value.index}`
            : e.case,
      ),
    ).toEqual(["0/2 1/2", "0/2 2/2", "image 0", "1/2 1/2", "1/2 2/2", "image 1", "done"]);
  });
  it("a backend that only has the unary form serves the streamed one", async () => {
    const backend = scripted({
      async *textToImage() {
        const media = {
          $typeName: "lintel.v1.Media" as const,
          url: "",
          seed: 0,
          nsfw: false,
          data: png(1),
          mimeType: "image/png",
        };
        yield [
          { $typeName: "lintel.v1.TextToImageResponse" as const, images: [media], warnings: ["w"] },
        ];
      },
    });
    const events = await run(coreOf([backend]), "streamTextToImage", {
      prompt: "a",
      safetyCheck: false,
    });
    expect(events.map((e) => e.event.case)).toEqual(["image", "done"]);
    expect(events[1]).toEqual(doneEvent(["w"]));
  });
});
