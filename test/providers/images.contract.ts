/** What requests for images say reaches the vendor, or the caller is told that it does not; images come out. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { bodies } from "../backends/ai-sdk-calls.js";
import { picture, pixels } from "../backends/picture.js";
import { opened, serve } from "../backends/serve.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { type ImageName, imageAsked } from "./image-asked.js";
import { imageBackendOf, imagePackages } from "./image-packages.js";
import { has } from "./wire.js";

it("are all the packages that the backend knows, and more", () => {
  const source = readFileSync("src/backends/ai-sdk/image-packages.ts", "utf8");
  const known = [...source.matchAll(/^ {2}"(@ai-sdk\/[^"]+)":/gm)].map(([, name]) => name);
  expect(imagePackages.map(({ name }) => name)).toEqual(expect.arrayContaining(known));
});

describe.each(imagePackages)("$name", (known) => {
  it.each(Object.keys(imageAsked) as ImageName[])("%s", async (name) => {
    const { field, request } = imageAsked[name];
    const { width = 64, height = 48 } = { ...request } as { width?: number; height?: number };
    const drawn = picture(width, height, 7);
    const server = await serve(known.answers(drawn));
    const backend = opened(imageBackendOf(known, server.url));
    const asked = {
      modelId: known.model,
      prompt: "a red circle",
      includeData: true,
      safetyCheck: false,
      ...request,
    };
    const { code, error, messages, warnings } = await outcome(
      coreOf([backend]),
      "textToImage",
      asked,
    );
    const posted = bodies({
      requests: server.requests.filter(({ method }) => method === "POST"),
    } as never);
    const form = known.sent[name];
    const sent = form !== undefined && posted.some((body) => has(body, form));
    const warned = warnings.some((text) => text.startsWith(`${field}:`));
    const fields: readonly string[] = [field, ...(field === "width" ? ["height"] : [])];
    const refused = code === "unsupported_parameter" && fields.includes(error?.param ?? "");
    const came = refused ? "refused" : code !== "ok" ? `${error}` : warned ? "warned" : "";
    expect(came || (sent ? "sent" : "lost"), JSON.stringify({ posted, warnings })).toBe(
      known.instead[name] ?? "sent",
    );
    if (refused) return;
    const images = messages.flatMap((message) => message.images);
    const shown = pixels(drawn).data;
    const same = images.map(({ data }) => pixels(data).data.equals(shown));
    expect(same).toEqual(Array("numImagesPerPrompt" in request ? 2 : 1).fill(true));
    const others = warnings.filter((text) => !text.startsWith(`${field}:`));
    const usual = ["seed: this model takes none, 0 stands for that"];
    const said = others.filter((text) => !usual.includes(text) && !known.says?.test(text));
    expect(said).toEqual([]);
  });
});
