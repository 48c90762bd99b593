/** Image servers behind the whole core: what callers get of them. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { sanitizePng } from "../../src/media/png.js";
import { chunk, chunkTypes, withChunks } from "../media/pictures.js";
import { never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { memoryStore } from "../support/media.js";
import { Comfy, pictureOf as comfyPicture } from "./comfyui-server.js";
import { backendFor as comfyFor } from "./comfyui-subject.js";
import { pixelsOf } from "./paint.js";
import { pictureOf, Webui } from "./sdapi-server.js";
import { backendFor as sdapiFor } from "./sdapi-subject.js";

const asked = {
  modelId: "v1-5-pruned-emaonly",
  prompt: "a cube | a ball",
  width: 64,
  height: 64,
  numInferenceSteps: 2,
  seed: 5n,
  includeData: true,
};

/** A picture with the settings that web UIs write into it. */
const signed = (png: Buffer) => withChunks(png, chunk("tEXt", "parameters\0a cube, Seed: 5"));

async function coreWith(backend: Backend) {
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  const put: Uint8Array[] = [];
  const store = memoryStore(() => "http://localhost");
  const media = {
    ...store,
    put: (png: Uint8Array) => {
      put.push(png);
      return store.put(png);
    },
  };
  return { core: coreOf([backend], {}, { sanitize: sanitizePng, media }), put };
}

async function webui() {
  const server = await Webui.start();
  onTestFinished(() => server.upstream.close());
  return { server, ...(await coreWith(sdapiFor(server.upstream.url))) };
}

async function comfy() {
  const server = await Comfy.start();
  onTestFinished(() => server.close());
  return { server, ...(await coreWith(comfyFor(server.url))) };
}

describe("callers get the pictures of all their prompts, with seeds in a row", () => {
  it("from a web UI", async () => {
    const { server, core } = await webui();
    const [response] = await run(core, "textToImage", asked);
    expect(server.asked.map(({ prompt, seed }) => [prompt, seed])).toEqual([
      ["a cube", 5],
      ["a ball", 6],
    ]);
    expect(response?.images.map(({ seed }) => seed)).toEqual([5, 6]);
    for (const [i, { data, seed }] of (response?.images ?? []).entries()) {
      expect(pixelsOf(data)).toEqual(pixelsOf(pictureOf(server.asked[i], seed)));
    }
  });

  it("from ComfyUI", async () => {
    const { server, core } = await comfy();
    const [response] = await run(core, "textToImage", asked);
    expect(response?.images.map(({ seed }) => seed)).toEqual([5, 6]);
    for (const [i, { data }] of (response?.images ?? []).entries()) {
      expect(pixelsOf(data)).toEqual(pixelsOf(comfyPicture(server.submitted[i] ?? {})));
    }
  });
});

describe("what a server writes into a picture stays behind", () => {
  it("of a web UI", async () => {
    const { server, core } = await webui();
    const png = signed(pictureOf({ width: 64, height: 64 }, 5));
    const images = [png.toString("base64")];
    server.next.push((exchange) => exchange.sendJson(200, { images, info: "" }));
    const [response] = await run(core, "textToImage", { ...asked, prompt: "a cube" });
    expect(chunkTypes(png)).toContain("tEXt");
    expect(chunkTypes(response?.images[0]?.data ?? png)).toEqual(["IHDR", "IDAT", "IEND"]);
  });

  it("of ComfyUI", async () => {
    const { server, core } = await comfy();
    const png = signed(pictureOf({ width: 64, height: 64 }, 5));
    server.next.push({ path: "/view", play: (response) => response.end(png) });
    const [response] = await run(core, "textToImage", { ...asked, prompt: "a cube" });
    expect(chunkTypes(response?.images[0]?.data ?? png)).toEqual(["IHDR", "IDAT", "IEND"]);
  });
});

describe("a broken picture is a 502, and is not stored", () => {
  const png = pictureOf({ width: 64, height: 64 }, 5);
  const broken = png.subarray(0, -20);

  it("of a web UI", async () => {
    const { server, core, put } = await webui();
    const images = [broken.toString("base64")];
    server.next.push((exchange) => exchange.sendJson(200, { images, info: "" }));
    await expect(run(core, "textToImage", asked)).rejects.toMatchObject({ http: 502 });
    expect(put).toEqual([]);
  });

  it("of ComfyUI", async () => {
    const { server, core, put } = await comfy();
    server.next.push({ path: "/view", play: (response) => response.end(broken) });
    await expect(run(core, "textToImage", asked)).rejects.toMatchObject({ http: 502 });
    expect(put).toEqual([]);
  });
});
