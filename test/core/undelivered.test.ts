/** Images that are stored before the call fails: none is kept that no caller can fetch. */
import { expect, test, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import type { MediaStore } from "../../src/core/media.js";
import { coreDefaults } from "../../src/core/settings.js";
import { gate, outcome } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { coreOf } from "../support/core.js";
import { memoryStore } from "../support/media.js";
import { imageModel } from "../support/models.js";
import { paints, scripted } from "../support/scripted.js";

type Paint = Handle<"streamTextToImage">;

/** Paints all but what has a star in it. */
const noStars: Paint = (call) => {
  if (call.request.prompt?.includes("star")) throw new LintelError("upstream_failed", "no stars");
  return paints(1)(call);
};

/** Has all images of a request in one batch. */
const atOnce: Paint = async function* (call) {
  const all = [];
  for await (const batch of paints(1)(call)) all.push(...batch);
  yield all;
};

/** A core before one backend, and which images are still stored of those that were. */
function storing(paint: Paint, media: MediaStore = memoryStore(() => "http://here")) {
  const put = vi.spyOn(media, "put");
  let checked = 0;
  const core = coreOf(
    [scripted({ streamTextToImage: paint }, [imageModel("i")], "a")],
    { safetyAction: "block", safetyOnFailure: coreDefaults.safetyOnFailure },
    // The second image of a call is harmful, where one is checked.
    { media, checker: { isHarmful: async () => ++checked === 2 } },
  );
  const kept = async () => {
    await settled();
    const urls = await Promise.all(put.mock.results.map(({ value }) => value as Promise<string>));
    const found = await Promise.all(
      urls.map((url) => media.get(url.slice(url.lastIndexOf("/") + 1))),
    );
    return found.map((image) => image !== undefined);
  };
  return { core, kept };
}

const bar = { prompt: "a circle | a star", safetyCheck: false };
const two = { prompt: "a circle", numImagesPerPrompt: 2 };

test("an image of an earlier prompt is not kept where a later one fails", async () => {
  const { core, kept } = storing(noStars);
  expect((await outcome(core, "textToImage", bar)).code).toBe("upstream_failed");
  expect(await kept()).toEqual([false]);
});

test("one that the caller of a stream has is kept", async () => {
  const { core, kept } = storing(noStars);
  const { code, messages } = await outcome(core, "streamTextToImage", bar);
  expect(code).toBe("upstream_failed");
  expect(messages.filter(({ event }) => event.case === "image")).toHaveLength(1);
  expect(await kept()).toEqual([true]);
});

test.each(["textToImage", "streamTextToImage"] as const)(
  "one that comes with one that is blocked is not kept: %s",
  async (method) => {
    const { core, kept } = storing(atOnce);
    expect((await outcome(core, method, two)).code).toBe("content_blocked");
    expect(await kept()).toEqual([false]);
  },
);

test("all of an answer are kept", async () => {
  const { core, kept } = storing(paints(1));
  const whole = { ...bar, prompt: "a circle | a square" };
  expect((await outcome(core, "textToImage", whole)).code).toBe("ok");
  expect(await kept()).toEqual([true, true]);
});

test.each(["textToImage", "streamTextToImage"] as const)(
  "one that is being stored when its caller leaves is not kept: %s",
  async (method) => {
    const [begun, ended] = [gate(), gate()];
    const media = memoryStore(() => "http://here");
    const { put } = media;
    media.put = async (...image) => {
      begun.open();
      await ended.opened;
      return put(...image);
    };
    const { core, kept } = storing(paints(1), media);
    const leaving = new AbortController();
    const call = outcome(
      core,
      method,
      { ...bar, prompt: "a circle" },
      {
        signal: leaving.signal,
      },
    );
    await begun.opened;
    leaving.abort();
    expect((await call).code).toBe("cancelled");
    ended.open();
    expect(await kept()).toEqual([false]);
  },
);

test("the call fails alike where they can't be deleted", async () => {
  const media = memoryStore(() => "http://here");
  const gone = vi.spyOn(media, "delete").mockRejectedValue(new Error("the disk is read-only"));
  const { core, kept } = storing(noStars, media);
  expect((await outcome(core, "textToImage", bar)).code).toBe("upstream_failed");
  expect(await kept()).toEqual([true]);
  expect(gone).toHaveBeenCalledTimes(1);
});
