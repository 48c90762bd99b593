/** Images that a vendor's filter keeps back, as each tells of it: the caller's to change, whether or not the provider knows it. */
import { describe, expect, it } from "vitest";
import { opened, serve } from "../backends/serve.js";
import type { Script } from "../backends/upstream.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { imageBackendOf, imagePackages } from "./image-packages.js";

/** A job that ends so. */
const job =
  (ended: object): Script =>
  (exchange) => {
    const { method, headers } = exchange.request;
    const url = `http://${headers.host}/job`;
    return exchange.sendJson(200, method === "POST" ? { id: "p", polling_url: url } : ended);
  };

const reasons = { details: { "Moderation Reasons": ["Derivative Works Filter"] } };
const sensitive =
  "The input or output was flagged as sensitive. Please try again with different inputs. (E005)";
const flagged = {
  detail: [
    {
      ...{ loc: ["body", "prompt"], type: "content_policy_violation", ctx: {}, input: {} },
      msg: "The content could not be processed because it contained material flagged by a content checker.",
    },
  ],
};
const rejected = {
  code: "Client specified an invalid argument",
  error: "Generated image rejected by content moderation.",
};

describe.each<readonly [name: string, script: Script, said: string]>([
  [
    "@ai-sdk/black-forest-labs",
    job({ id: "p", status: "Request Moderated", result: null, ...reasons }),
    "Request Moderated, Derivative Works Filter",
  ],
  [
    "@ai-sdk/black-forest-labs",
    job({ id: "p", status: "Content Moderated", result: null }),
    "Content Moderated",
  ],
  [
    "@ai-sdk/replicate",
    (e) =>
      e.sendJson(200, {
        id: "p",
        status: "failed",
        output: null,
        error: sensitive,
        urls: { get: "" },
      }),
    sensitive,
  ],
  [
    "@ai-sdk/amazon-bedrock",
    (e) => e.sendJson(200, { status: "Request Moderated", ...reasons }),
    "Request Moderated, Derivative Works Filter",
  ],
  [
    "@ai-sdk/amazon-bedrock",
    (e) => e.sendJson(400, { message: "This request has been blocked by our content filters." }),
    "blocked by our content filters",
  ],
  ["@ai-sdk/fal", (e) => e.sendJson(422, flagged), "flagged by a content checker"],
  ["@ai-sdk/xai", (e) => e.sendJson(400, rejected), rejected.error],
  [
    "@ai-sdk/xai",
    (e) => e.sendJson(200, { data: [{ url: "", b64_json: null, respect_moderation: false }] }),
    "moderated",
  ],
])("%s", (name, script, said) => {
  it(`says: ${said}`, async () => {
    const known = imagePackages.find((one) => one.name === name);
    if (!known) throw new Error(`${name} is not known`);
    const server = await serve(script);
    const backend = opened(imageBackendOf(known, server.url));
    const asked = { modelId: known.model, prompt: "a red circle", safetyCheck: false };
    const { code, error } = await outcome(coreOf([backend]), "textToImage", asked);
    expect([code, error?.message]).toEqual(["content_blocked", expect.stringContaining(said)]);
    expect(server.requests.length).toBeLessThanOrEqual(2);
  });
});
