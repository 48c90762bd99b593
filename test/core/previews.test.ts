/** Which previews a caller gets to see. */
import { describe, expect, it } from "vitest";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Backend, Handlers } from "../../src/core/backend.js";
import type { CoreParts } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../src/core/image-events.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { coreOf, run } from "../support/core.js";
import { imageModel } from "../support/models.js";
import { breaksAfter, png, scripted } from "../support/scripted.js";

const own = ["include_previews", "safety_check"];
const harmless = { isHarmful: async () => false };

interface Case {
  readonly action?: CoreSettings["safetyAction"];
  readonly parts?: Partial<CoreParts>;
  readonly models?: readonly Model[];
  readonly first?: readonly Backend[];
  readonly request?: { readonly includePreviews?: boolean; readonly safetyCheck?: boolean };
}

/** Shows a preview whether it is asked to or not. */
const shows: Handlers["streamTextToImage"] = async function* () {
  yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(7) })];
  yield [imageEvent(0, inlineImage(png(1), 1)), doneEvent([])];
};

/** Streams from a model that shows a preview; `first` are asked before it. */
async function stream({ action = "flag", parts = {}, models, request = {}, first = [] }: Case) {
  const backend = scripted({ streamTextToImage: shows }, models ?? [imageModel("image-1")]);
  const core = coreOf([...first, backend], { safetyAction: action }, parts);
  const wanted = { prompt: "a", includePreviews: true, ...request };
  const events = (await run(core, "streamTextToImage", wanted)).map(({ event }) => event);
  return {
    asked: backend.asked.map((one) => "includePreviews" in one && one.includePreviews),
    previews: events.flatMap((e) => (e.case === "progress" ? [Buffer.from(e.value.preview)] : [])),
    images: events.filter((e) => e.case === "image").length,
    warnings: events.flatMap((e) => (e.case === "done" ? e.value.warnings : [])),
  };
}

const empty = Buffer.alloc(0);

describe("previews of images that may be withheld", () => {
  it.each<[string, Case]>([
    ["block, a checker", { action: "block", parts: { checker: harmless } }],
    ["blur, a checker", { action: "blur", parts: { checker: harmless } }],
    ["block, the model's own", { action: "block", models: [imageModel("i", { supports: own })] }],
  ])("are neither asked for nor shown, and a warning says so (%s)", async (_, it) => {
    expect(await stream(it)).toEqual({
      asked: [false],
      previews: [empty],
      images: 1,
      warnings: [
        "include_previews: no previews, since the safety check may blur or block the images",
      ],
    });
  });

  it.each<[string, Case]>([
    ["flag", { parts: { checker: harmless } }],
    [
      "nobody wants a check",
      { action: "block", parts: { checker: harmless }, request: { safetyCheck: false } },
    ],
    ["nobody can check", { action: "block" }],
  ])("are shown where nothing is withheld (%s)", async (_, it) => {
    const { asked, previews, warnings } = await stream(it);
    expect(asked).toEqual([true]);
    expect(previews).toEqual([png(7)]);
    expect(warnings.join()).not.toContain("include_previews");
  });

  it("are not shown by another target, which checks, where the first one brings no check", async () => {
    const away = breaksAfter(new LintelError("unavailable", "away"));
    const unchecked = imageModel("i", { supports: ["include_previews"] });
    const first = scripted({ streamTextToImage: away as never }, [unchecked], "first");
    const models = [imageModel("i", { supports: own })];
    const { asked, previews } = await stream({ action: "blur", models, first: [first] });
    expect([first.asked.length, asked.length]).toEqual([1, 1]);
    expect(previews).toEqual([empty]);
  });

  it("are nothing to warn of where nobody asked for them", async () => {
    const request = { includePreviews: false };
    const parts = { checker: harmless };
    const { previews, warnings } = await stream({ action: "block", parts, request });
    expect(previews).toEqual([empty]);
    expect(warnings).toEqual([]);
  });
});

describe("previews", () => {
  it("are neither made for a whole answer, which shows none, nor refused there", async () => {
    const model = imageModel("plain", { supports: ["seed"] });
    const plain = scripted({ streamTextToImage: shows }, [imageModel("image-1"), model]);
    const core = coreOf([plain], { models: [{ name: "plain", unsupported: "reject" }] });
    for (const modelId of ["image-1", "plain"]) {
      const wanted = { modelId, prompt: "a", includePreviews: true, safetyCheck: false };
      const [answer] = await run(core, "textToImage", wanted);
      expect(answer?.warnings).toEqual([]);
    }
    expect(plain.asked).toMatchObject([{ includePreviews: false }, { includePreviews: false }]);
  });

  it("that nobody asked for are not shown", async () => {
    const { previews } = await stream({ request: { includePreviews: false } });
    expect(previews).toEqual([empty]);
  });

  it("are sanitized, as images are", async () => {
    const clean = Buffer.from("clean");
    expect((await stream({ parts: { sanitize: () => clean } })).previews).toEqual([clean]);
  });

  it("that are broken are left out, and the image comes", async () => {
    const sanitize = (data: Uint8Array) => {
      if (Buffer.from(data).equals(png(7))) throw new LintelError("upstream_failed", "broken");
      return data;
    };
    expect(await stream({ parts: { sanitize } })).toMatchObject({ previews: [empty], images: 1 });
  });
});
