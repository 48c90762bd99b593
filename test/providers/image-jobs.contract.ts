/** Jobs of image vendors that take long: their providers ask for them as long as calls may take. */
import { expect, it } from "vitest";
import { aiSdkBackend } from "../backends/ai-sdk-subject.js";
import { picture } from "../backends/picture.js";
import { opened, serve } from "../backends/serve.js";
import type { Script } from "../backends/upstream.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";

const asked = { prompt: "a red circle", safetyCheck: false };

it("Luma's is waited for beyond its provider's minute", async () => {
  const most = 120;
  let looks = 0;
  const script: Script = (exchange) => {
    const { method, path, headers } = exchange.request;
    if (path.endsWith(".png")) {
      return exchange.send(200, { "content-type": "image/png" }, picture(64, 48, 7));
    }
    if (method === "POST") return exchange.sendJson(200, { id: "p", state: "queued" });
    looks++;
    const assets = { image: `http://${headers.host}/a.png` };
    const done = { id: "p", state: "completed", assets };
    return exchange.sendJson(200, looks > most ? done : { id: "p", state: "dreaming" });
  };
  const server = await serve(script);
  const backend = aiSdkBackend({
    package: "@ai-sdk/luma",
    options: { baseURL: server.url, apiKey: "secret" },
    models: [
      { id: "photon-1", task: "image", provider_options: { luma: { pollIntervalMillis: 1 } } },
    ],
  });
  const { code, messages } = await outcome(coreOf([opened(backend)]), "textToImage", asked);
  expect([code, messages[0]?.images.length, looks]).toEqual(["ok", 1, most + 1]);
});

it("one that the operator gave too little time is late, and not asked for again", async () => {
  const server = await serve((exchange) => {
    const polling_url = `http://${exchange.request.headers.host}/job`;
    return exchange.sendJson(
      200,
      exchange.request.method === "POST" ? { id: "p", polling_url } : { status: "Pending" },
    );
  });
  const patience = { pollIntervalMillis: 1, pollTimeoutMillis: 2 };
  const backend = aiSdkBackend({
    package: "@ai-sdk/black-forest-labs",
    options: { baseURL: server.url, apiKey: "secret" },
    models: [
      { id: "flux-pro-1.1", task: "image", provider_options: { blackForestLabs: patience } },
    ],
  });
  const { code, error } = await outcome(coreOf([opened(backend)]), "textToImage", asked);
  expect([code, error?.retry]).toEqual(["timeout", "never"]);
  expect(server.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});
