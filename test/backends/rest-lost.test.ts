/** A gateway that is lost while it draws: who has seen nothing of the images has them from another one. */
import { describe, expect, it, onTestFinished } from "vitest";
import { startLintel } from "../support/lintel.js";
import { gateway, restAt } from "./rest-subject.js";
import type { Exchange, Script } from "./upstream.js";

type Loss = (exchange: Exchange) => Promise<void> | void;

const losses: Readonly<Record<string, Loss>> = {
  "is reset": (exchange) => exchange.destroy(),
  "ends in order": (exchange) => exchange.end(),
  "ends in the middle of an event": async (exchange) => {
    await exchange.chunk('data: {"type":"image","index":0,"image":{"url":"http://h');
    await exchange.end();
  },
};

const step = { type: "progress", index: 0, images: 2, step: 1, steps: 2, percent: 25 };

/** A Lintel before two gateways, the first of which begins and is lost. */
async function inFrontOf(loss: Loss, images: number) {
  const [first, second] = [await gateway(), await gateway()];
  first.next = (async (exchange) => {
    const url = `${first.url}/media/7-64x64.png`;
    const made = { type: "image", index: 0, image: { url, seed: 7, nsfw: false } };
    await exchange.stream(step, ...Array(images).fill(made));
    await loss(exchange);
  }) satisfies Script;
  const backends = [restAt(first.url, { name: "first" }), restAt(second.url, { name: "second" })];
  const lintel = await startLintel(backends);
  onTestFinished(async () => {
    await lintel.close();
    for (const part of [...backends, first, second]) await part.close();
  });
  const ask = (more = {}) =>
    fetch(`${lintel.url}/text-to-image`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer me" },
      body: JSON.stringify({
        ...{ model_id: "draw", prompt: "a circle", width: 64, height: 64, seed: 7 },
        ...{ num_images_per_prompt: 2, ...more },
      }),
    });
  const asked = () => second.requests.filter(({ method }) => method === "POST").length;
  return { ask, asked };
}

describe.each(Object.entries(losses))("the stream of a gateway that %s", (_, loss) => {
  it.each([0, 1])("is followed by another gateway's, behind %i images", async (images) => {
    const { ask, asked } = await inFrontOf(loss, images);
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-lintel-attempts")).toBe("2");
    const { images: all } = (await answer.json()) as { images: { seed: number }[] };
    expect(all.map(({ seed }) => seed)).toEqual([7, 8]);
    expect(asked()).toBe(1);
  });

  it("is a failure for who has seen how far it came", async () => {
    const { ask, asked } = await inFrontOf(loss, 0);
    const text = await (await ask({ stream: true })).text();
    expect(text).toContain('"code":"upstream_failed"');
    expect(asked()).toBe(0);
  });
});
