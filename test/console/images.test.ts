/** Pictures in the console, in a real browser before a real gateway. */
import { afterAll, describe, expect, it } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { progressEvent } from "../../src/core/image-events.js";
import { webConsole } from "../../src/doors/console.js";
import { serve } from "../doors/serve.js";
import { paints, png, scripted } from "../support/scripted.js";
import { button, closeBrowser, labelled, noBrowser, opened, why } from "./browser.js";

const shown = { moreDoors: [webConsole(["calls"])] };

describe.skipIf(noBrowser)(`pictures in the console${why}`, () => {
  afterAll(closeBrowser);

  it("are asked for as the form says, and shown with their seeds", async () => {
    const backend = scripted({ streamTextToImage: paints(2) });
    const { url } = await serve(backend, shown);
    const { page, faults, origins } = await opened(url, "#images");
    await labelled(page, "Negative prompt").fill("rain");
    await labelled(page, "Width").fill("64");
    await labelled(page, "Height").fill("128");
    await labelled(page, "Seed").fill("5");
    await labelled(page, "Images of each prompt").fill("2");
    await labelled(page, "LoRA").selectOption("style");
    await labelled(page, "Check for harmful pictures").uncheck();
    await labelled(page, "Prompt").fill("a cat");
    await button(page, "Draw").click();
    await button(page, "seed 6").waitFor();
    expect(backend.asked[0]).toMatchObject({
      ...{ modelId: "image-1", prompt: "a cat", negativePrompt: "rain", width: 64, height: 128 },
      ...{ seed: 5n, numImagesPerPrompt: 2, safetyCheck: false, includePreviews: true },
      loras: '{"style":1}',
    });
    const pictures = page.getByAltText("drawn");
    // They are there, and the page's policy lets them in.
    await expect
      .poll(() =>
        pictures.evaluateAll((all) =>
          all.map((one) => (one as unknown as { naturalWidth: number }).naturalWidth),
        ),
      )
      .toEqual([64, 64]);
    expect({ faults, origins: [...origins] }).toEqual({ faults: [], origins: [url] });
    await button(page, "seed 6").click();
    expect(await labelled(page, "Seed").inputValue()).toBe("6");
  });

  it("show how far they are, and what they come to, and stop", async () => {
    let left: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => {
      left = resolve;
    });
    const preview = png(1);
    const backend = scripted({
      async *streamTextToImage(call) {
        yield [progressEvent({ index: 0, images: 1, step: 0, steps: 4, queuePosition: 2 })];
        yield [progressEvent({ index: 0, images: 1, step: 1, steps: 4, preview })];
        await new Promise<void>((resolve) =>
          call.signal.addEventListener("abort", () => resolve()),
        );
        left?.();
      },
    });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url, "#images");
    await labelled(page, "Prompt").fill("a cat");
    await labelled(page, "Prompt").press("Enter");
    await page.getByText("step 1 of 4").waitFor();
    expect(await page.locator("progress").getAttribute("value")).toBe("25");
    await page.getByAltText("what it comes to").waitFor();
    await button(page, "Stop").click();
    await gone;
    await page.getByText("Stopped.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  /** The form, sent before it is known what there is to draw with, which `tell` tells. */
  async function sentEarly() {
    const backend = scripted({ streamTextToImage: paints() });
    const { url } = await serve(backend, shown);
    let tell = () => {};
    const told = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const { page } = await opened(url, "#images", (page) =>
      page.route("**/ListModels", async (route) => {
        await told;
        await route.continue();
      }),
    );
    await labelled(page, "Prompt").fill("a cat");
    await labelled(page, "Prompt").press("Enter");
    return { backend, page, tell };
  }

  it("wait for what the gateway has, where somebody is quicker", async () => {
    const { backend, page, tell } = await sentEarly();
    tell();
    await page.getByAltText("drawn").waitFor();
    expect(backend.asked).toHaveLength(1);
    expect(backend.asked[0]).toMatchObject({ modelId: "image-1", includePreviews: true });
  });

  it("do not wait with what is written on", async () => {
    const { backend, page, tell } = await sentEarly();
    await labelled(page, "Prompt").fill("a cat and a dog");
    tell();
    await button(page, "Draw").click();
    await page.getByAltText("drawn").waitFor();
    expect(backend.asked).toHaveLength(1);
  });

  it("are veiled where they were found harmful, until somebody asks", async () => {
    const parts = { checker: { isHarmful: async () => true } };
    const { url } = await serve(scripted({ streamTextToImage: paints() }), { ...shown, parts });
    const { page } = await opened(url, "#images");
    await labelled(page, "Prompt").fill("a cat");
    await button(page, "Draw").click();
    await page.locator("img.veiled").waitFor();
    await button(page, "Found harmful: show").click();
    expect(await page.locator("img.veiled").count()).toBe(0);
  });

  it("tell why there are none", async () => {
    const backend = scripted({
      // biome-ignore lint/correctness/useYield: it fails before
      async *streamTextToImage() {
        throw new LintelError("timeout", "the model server took too long");
      },
    });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url, "#images");
    await labelled(page, "Prompt").fill("a cat");
    await button(page, "Draw").click();
    expect(await page.getByRole("alert").innerText()).toBe("the model server took too long");
  });
});
