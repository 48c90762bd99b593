/** Servers of images that fail, seen through every door. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { drawing } from "../backends/openai-images-subject.js";
import { backendFor } from "../backends/openai-subject.js";
import { paintsByEvents, restAt } from "../backends/rest-subject.js";
import type { Script } from "../backends/upstream.js";
import type { ImageOutcome } from "./cases.js";
import { type Driver, drivers } from "./drivers.js";
import { answers, breaks, type Stage, Theatre } from "./theatre.js";

/** What a client of OpenAI's sees. */
const openaiImages: Driver = {
  name: "OpenAI images",
  streams: false,
  async image(base, { request }): Promise<ImageOutcome> {
    const { model_id: model, prompt } = request;
    const response = await fetch(`${base}/v1/images/generations`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer all" },
      body: JSON.stringify({ model, prompt, size: "64x64" }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: an answer, as a client looks at it
    const { data, error }: any = await response.json();
    return error ? { error: { code: error.code } } : { nsfw: data.map(() => false) };
  },
};

const ways = [...drivers.filter(({ image }) => image), openaiImages];

/** Begins an answer of events, then breaks the connection. */
const breaksAfter =
  (...events: object[]): Script =>
  async (exchange) => {
    await exchange.stream(...events);
    exchange.destroy();
  };
const progress = { type: "progress", index: 0, images: 1, steps: 9 };

/** After these another server is asked. */
const early = (good: Script): Stage => ({
  "reset before the first byte": [breaks, good],
  "too many requests": [answers(429), good],
  "bad gateway": [answers(502), good],
  "service unavailable": [answers(503), good],
  "gateway timeout": [answers(504), good],
  "server error": [answers(500), good],
});

/** A server whose list of models is always there. */
const listed =
  (model: string, script: Script): Script =>
  (exchange) =>
    exchange.request.method === "GET" && exchange.request.path.endsWith("/models")
      ? exchange.sendJson(200, { object: "list", data: [{ id: model, object: "model" }] })
      : script(exchange);

/** The kinds of servers, with what only they can do. */
const kinds = [
  {
    kind: "openai",
    open: (url: string, name: string, model: string) =>
      backendFor(url, { name, models: undefined, image_models: [model] }),
    stage: {
      ...early(drawing("openai/image")),
      "connection refused": [drawing("openai/image"), drawing("openai/image")],
    },
    shown: {} as Stage,
    final: { "bad request": [answers(400), drawing("openai/image")] },
  },
  {
    kind: "rest",
    open: (url: string, name: string, model: string) =>
      restAt(url, { name, models: [{ id: model, task: "image" }] }),
    stage: {
      ...early(paintsByEvents),
      "connection refused": [paintsByEvents, paintsByEvents],
      "reset in the server's own queue": [
        breaksAfter({ ...progress, step: 0, queue_position: 3 }),
        paintsByEvents,
      ],
    },
    /** What callers who are shown how far it is have seen. */
    shown: {
      "reset after the first step": [breaksAfter({ ...progress, step: 1 }), paintsByEvents],
    } as Stage,
    final: { "bad request": [answers(400), paintsByEvents] },
  },
];

describe.each(kinds)("servers of kind $kind", (kind) => {
  describe.each(ways)("$name", (way) => {
    const theatre = new Theatre();
    const stage: Stage = { ...kind.stage, ...(!way.streams && kind.shown) };
    const final: Stage = { ...kind.final, ...(way.streams && kind.shown) };
    const all = Object.entries({ ...stage, ...final });
    const scripts = all.map(([model, each]) => [model, each.map((it) => listed(model, it))]);
    beforeAll(() => theatre.open(Object.fromEntries(scripts), [], {}, kind.open));
    afterAll(() => theatre.close());
    const ask = (model_id: string) =>
      way.image?.(theatre.lintel.url, {
        name: model_id,
        request: { model_id, prompt: "a circle", width: 64, height: 64 },
        expected: {},
      });

    /** How often each server was asked for an image. */
    const posts = (model: string) =>
      theatre.servers(model).map(({ requests }) => {
        return requests.filter(({ method }) => method === "POST").length;
      });

    it.each(Object.keys(stage))("another server is asked: %s", async (model) => {
      const refused = model === "connection refused";
      if (refused) await theatre.servers(model)[0]?.close();
      expect(await ask(model)).toMatchObject({ nsfw: [false] });
      expect(posts(model)).toEqual([refused ? 0 : 1, 1]);
    });
    it.each(Object.keys(final))("nobody else is asked: %s", async (model) => {
      const code = model === "bad request" ? "invalid_value" : "upstream_failed";
      expect(await ask(model)).toMatchObject({ error: { code } });
      expect(posts(model)).toEqual([1, 0]);
    });
  });
});
