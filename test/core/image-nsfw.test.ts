/** Images that are not safe for work. */
import { describe, expect, it } from "vitest";
import type { CallSignal } from "../../src/core/cancellation.js";
import { LintelError } from "../../src/core/errors.js";
import { type Logger, silent } from "../../src/core/log.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { settled } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { imageModel } from "../support/models.js";
import { stateOf } from "../support/routing.js";
import { paints, png, scripted } from "../support/scripted.js";
import { failure, painter } from "./painter.js";

describe("nsfw", () => {
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
  it("whoever leaves during the check is no failure of it for the log", async () => {
    const leaving = new AbortController();
    const isHarmful = async (_: Uint8Array, signal: CallSignal) => {
      leaving.abort();
      throw signal.reason;
    };
    const said: string[] = [];
    const log: Logger = {
      ...silent,
      warn: (_: object, message: string) => void said.push(message),
    };
    const core = coreOf([painter()], {}, { checker: { isHarmful }, log });
    const asked = run(core, "textToImage", { prompt: "a" }, { signal: leaving.signal });
    await expect(asked).rejects.toEqual(failure("cancelled"));
    await settled();
    expect(said).not.toContain("a safety check failed");
  });
  it("a model's word counts only where it is believed to check", async () => {
    const [answer] = await run(coreOf([painter(undefined, true)]), "textToImage", { prompt: "a" });
    expect(answer?.images[0]?.nsfw).toBe(false);
    expect(answer?.warnings.join()).toMatch(/safety_check/);
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
