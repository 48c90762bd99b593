/** Parameters of images: defaults, LoRAs, and what a model does not support. */
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { doneEvent, imageEvent, inlineImage, noSeed } from "../../src/core/image-events.js";
import { sanitizePng } from "../../src/media/png.js";
import { coreOf, run } from "../support/core.js";
import { imageModel } from "../support/models.js";
import { png, scripted } from "../support/scripted.js";
import { failure, painter } from "./painter.js";

describe("defaults", () => {
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

describe("loras", () => {
  it.each(['{"style": 0.5}', '{"a \\"b\\": c\\\\": 1}'])(
    "%s reach the model as given",
    async (loras) => {
      const backend = painter();
      await run(coreOf([backend]), "textToImage", { prompt: "a", loras });
      expect(backend.asked[0]).toMatchObject({ loras });
    },
  );
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
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":1}',
  ])("%s is a 400 that names loras", async (loras) => {
    await expect(run(coreOf([painter()]), "textToImage", { prompt: "a", loras })).rejects.toEqual(
      failure("invalid_value", "loras"),
    );
  });
});

describe("a parameter that the model does not support", () => {
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
  it.each([
    [0, 64],
    [30_000, 30_000],
  ])(
    "is not what a server makes that is no picture, or too large for one: %ix%i",
    async (...size) => {
      const header = Buffer.from(png(99, 64, 72));
      size.forEach((side, i) => {
        header.writeUInt32BE(side, 16 + 4 * i);
      });
      header.writeUInt32BE(crc32(header.subarray(12, 29)), 29);
      const backend = scripted(
        {
          async *streamTextToImage() {
            yield [imageEvent(0, inlineImage(header, 99))];
            yield [doneEvent([])];
          },
        },
        [imageModel("image-1")],
      );
      const core = coreOf([backend], {}, { sanitize: (data) => sanitizePng(data) });
      await expect(run(core, "textToImage", { prompt: "a", width: 512 })).rejects.toMatchObject({
        code: "upstream_failed",
      });
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
