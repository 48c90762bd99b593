/** What the OpenAPI document says beside bodies, and what it says where the operator has a word in it. */
import { describe, expect, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import type { LimitSettings } from "../../src/core/limits/settings.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import type { Json } from "../contract/wire.js";
import { breaksAfter, paints, says, scripted } from "../support/scripted.js";
import { document } from "./openapi-document.js";
import { hello, json, serve } from "./serve.js";

const noon = Date.UTC(2026, 0, 15, 12);

/** A Lintel that does all of which headers tell. */
function telling(caller: LimitSettings["caller"], backend = scripted({ chat: says("Hi") })) {
  return serve(backend, {
    core: { cache: { ttlMs: 3_600_000, scope: "caller", maxAnswerBytes: 1000 } },
    parts: {
      limits: {
        settings: { models: [], caller },
        prices: [],
        store: memoryLimits({ clock: () => noon }),
      },
      cache: memoryCache(1_000_000),
      idempotency: {
        store: new MemoryIdempotency({ ttlMs: 60_000, maxAnswerBytes: 1e6, maxBytes: 1e6 }),
        lingerMs: 1000,
      },
    },
  });
}

/** An answer's headers that are the gateway's own, as it tells browsers. */
function ownOf({ headers }: Response): [name: string, value: string][] {
  const own = headers.get("access-control-expose-headers")?.toLowerCase().split(/,\s*/) ?? [];
  return [...headers].filter(([name]) => own.includes(name));
}

const resolved = ({ $ref, ...form }: Json): Json =>
  $ref
    ? $ref
        .slice(2)
        .split("/")
        .reduce((part: Json, name: string) => part[name], document)
    : form;

/** The headers that the document has for an answer. */
const described = (path: string, status: number): Json =>
  resolved(document.paths[path].post.responses[status]).headers;

describe("each header of an answer is described", () => {
  const headers = { origin: "https://app.example", "idempotency-key": "a" };

  async function expectDescribed(path: string, answer: Response, ...names: string[]) {
    await answer.text();
    const own = ownOf(answer);
    expect(own.map(([name]) => name)).toEqual(expect.arrayContaining(names));
    const known = described(path, answer.status);
    for (const [name, value] of own) {
      expect(Object.keys(known)).toContain(name);
      const { schema } = resolved(known[name]);
      if (schema.const) expect(value).toBe(schema.const);
      if (schema.type === "integer") expect(Number(value)).toBeGreaterThanOrEqual(schema.minimum);
    }
  }

  test("of chat", async () => {
    const server = await telling({ requestsPerMinute: 2, tokensPerMinute: 10_000 });
    const first = await server.post("/llm", hello({ top_k: 3 }), headers);
    const limits = ["x-ratelimit-limit-requests", "x-ratelimit-reset-tokens"];
    await expectDescribed("/llm", first, "cache-status", "x-lintel-attempts", ...limits);
    const again = await server.post("/llm", hello({ top_k: 3 }), headers);
    await expectDescribed("/llm", again, "idempotent-replayed");
    const { origin } = headers;
    await (await server.post("/llm", hello(), { origin })).text();
    const refused = await server.post("/llm", hello(), { origin });
    expect(refused.status).toBe(429);
    await expectDescribed("/llm", refused, "retry-after", "retry-after-ms", ...limits);
  });

  test("of images", async () => {
    const painter = scripted({ streamTextToImage: paints(1) });
    const server = await telling({ requestsPerMinute: 2, imagesPerDay: 1 }, painter);
    const asked = { prompt: "a", height: 64 };
    const first = await server.post("/text-to-image", asked, headers);
    await expectDescribed("/text-to-image", first, "x-request-id", "x-ratelimit-limit-requests");
    const { origin } = headers;
    const refused = await server.post("/text-to-image", asked, { origin });
    expect(refused.status).toBe(429);
    await expectDescribed("/text-to-image", refused, "x-should-retry");
  });

  test("of failures", async () => {
    const failing = scripted({ chat: breaksAfter(new LintelError("unavailable", "It sleeps.")) });
    const server = await telling({ requestsPerMinute: 5 }, failing);
    const { origin } = headers;
    const failed = await server.post("/llm", hello(), { origin });
    expect(failed.status).toBe(503);
    await expectDescribed("/llm", failed, "x-lintel-attempts", "retry-after");
    const nobody = await server.post("/llm", hello(), { origin, authorization: "" });
    expect(nobody.status).toBe(401);
    await expectDescribed("/llm", nobody, "www-authenticate");
  });
});

test("bounds are the operator's where there are any", async () => {
  const bounds = {
    temperature: { max: 1.5 },
    top_p: { min: 0.1 },
    max_tokens: { max: 8192 },
    logit_bias: { max: 300 },
    messages: { max: 20_000 },
    width: { min: 128, max: 1024 },
    guidance_scale: {},
    prompts: { max: 1 },
    loras: { max: 1 },
  };
  const server = await serve(scripted({}), { doors: { bounds } });
  const served = await json(await server.get("/openapi.json"));
  const { LLMRequest, TextToImageRequest } = structuredClone(document.components.schemas);
  LLMRequest.properties.temperature.maximum = 1.5;
  const { exclusiveMinimum: _, ...topP } = LLMRequest.properties.top_p;
  LLMRequest.properties.top_p = { ...topP, minimum: 0.1 };
  LLMRequest.properties.max_tokens.maximum = 8192;
  expect(LLMRequest.properties.logit_bias.maxProperties).toBe(1024);
  LLMRequest.properties.logit_bias.maxProperties = 300;
  // More than that many items no list may have.
  expect(LLMRequest.properties.messages.maxItems).toBe(10_000);
  Object.assign(TextToImageRequest.properties.width, { minimum: 128, maximum: 1024 });
  const schemas = { ...document.components.schemas, LLMRequest, TextToImageRequest };
  expect(served).toEqual({ ...document, components: { ...document.components, schemas } });
});

test("one bound alone is told, and the end that nobody moved is the contract's", async () => {
  const server = await serve(scripted({}), { doors: { bounds: { top_p: { max: 0.5 } } } });
  const { components } = await json(await server.get("/openapi.json"));
  const { maximum: _, ...topP } = document.components.schemas.LLMRequest.properties.top_p;
  expect(topP.exclusiveMinimum).toBe(0);
  expect(components.schemas.LLMRequest.properties.top_p).toEqual({ ...topP, maximum: 0.5 });
});
