import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { LargeAnswer } from "../../src/backends/http/large.js";
import { never } from "../support/calls.js";
import { Comfy } from "./comfyui-server.js";
import { backendFor as comfyuiAt } from "./comfyui-subject.js";
import { generate } from "./openai-images-calls.js";
import { drawing } from "./openai-images-subject.js";
import { backendFor as openaiAt } from "./openai-subject.js";
import { imageRequest, picture } from "./picture.js";
import { livepeerImages, restAt } from "./rest-subject.js";
import { smallRequest } from "./sdapi-subject.js";
import { callOf } from "./subject.js";
import { type Script, Upstream } from "./upstream.js";

/** Whether a promise has settled once everything that is ready has run. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

/** More than comes without a place. */
const much = Buffer.alloc(300 * 1024, " ");

/** Of two servers in turn. */
const answers = (count: number, signal = never) =>
  Array.from({ length: count }, (_, i) => new LargeAnswer(servers[i % 2] as object, signal));

const servers = [{}, {}];

type Four = [Promise<unknown>, Promise<unknown>, Promise<unknown>, Promise<unknown>];

/** Begins to read; resolves once it is in its place. */
const begin = (answer: LargeAnswer, source: AsyncIterable<Buffer> = of(much)) =>
  answer.pieces(source).next();

async function* of(...pieces: Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

describe("large answers", () => {
  afterEach(() => vi.useRealTimers());

  test("eight at once; the others wait their turn, and who leaves gives up its place", async () => {
    const left = new AbortController();
    const inside = answers(8);
    await Promise.all(inside.map((answer) => begin(answer)));
    const waiting = [...answers(2), ...answers(1, left.signal), ...answers(1)];
    const [first, second, third, fourth] = waiting.map((answer) => begin(answer)) as Four;
    expect(await settled(first)).toBe(false);
    left.abort(new Error("left"));
    await expect(third).rejects.toThrow("left");
    waiting[1]?.leave();
    await expect(second).rejects.toThrow("not listened to");
    inside[0]?.leave();
    inside[0]?.leave();
    await first;
    expect(await settled(fourth)).toBe(false);
    inside[2]?.leave();
    await fourth;
    for (const answer of [...inside, ...waiting]) answer.leave();
    const [last] = answers(1) as [LargeAnswer];
    await begin(last);
    last.leave();
  });

  test("a place that becomes free is for who waits, not for who comes in the same moment", async () => {
    const inside = answers(8);
    await Promise.all(inside.map((answer) => begin(answer)));
    const [waiting, , late] = answers(3) as [LargeAnswer, LargeAnswer, LargeAnswer];
    const waited = begin(waiting);
    inside[0]?.leave();
    const entered = begin(late);
    await waited;
    expect(await settled(entered)).toBe(false);
    waiting.leave();
    await entered;
    for (const answer of [...inside, late]) answer.leave();
  });

  test("who has left takes no place, neither late nor in the same moment", async () => {
    const [own] = servers as [object, object];
    for (let i = 0; i < 4; i++) {
      const left = new LargeAnswer(own, never);
      left.leave();
      await expect(begin(left)).rejects.toThrow("not listened to");
    }
    const inside = Array.from({ length: 4 }, () => new LargeAnswer(own, never));
    await Promise.all(inside.map((answer) => begin(answer)));
    const waiting = new LargeAnswer(own, never);
    const waited = begin(waiting);
    await settled(waited);
    waiting.leave();
    for (const answer of inside) answer.leave();
    await expect(waited).rejects.toThrow("not listened to");
    const after = Array.from({ length: 4 }, () => new LargeAnswer(own, never));
    await Promise.all(after.map((answer) => begin(answer)));
    for (const answer of after) answer.leave();
  });

  test("a reader's timer stands still while it waits for its place", async () => {
    const inside = answers(8);
    await Promise.all(inside.map((answer) => begin(answer)));
    const timer = { stop: vi.fn(), start: vi.fn() };
    const [waiting] = answers(1) as [LargeAnswer];
    const pieces = waiting.pieces(of(much, much), timer);
    const first = pieces.next();
    await settled(first);
    expect([timer.stop, timer.start].map(({ mock }) => mock.calls.length)).toEqual([1, 0]);
    inside[0]?.leave();
    await first;
    await pieces.next();
    expect([timer.stop, timer.start].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    for (const answer of [...inside, waiting]) answer.leave();
  });

  test("four are of one server, and others pass those of it that wait", async () => {
    const [own, other] = servers as [object, object];
    const slow = Array.from({ length: 5 }, () => new LargeAnswer(own, never));
    const [, , , , fifth] = slow.map((answer) => begin(answer));
    const passing = new LargeAnswer(other, never);
    await begin(passing);
    expect(await settled(fifth as Promise<unknown>)).toBe(false);
    passing.leave();
    expect(await settled(fifth as Promise<unknown>)).toBe(false);
    slow[0]?.leave();
    await fifth;
    for (const answer of slow) answer.leave();
  });

  test("a little needs no place, and comes as it was sent", async () => {
    const inside = answers(8);
    await Promise.all(inside.map((answer) => begin(answer)));
    const little = [Buffer.from("a"), Buffer.from("b")];
    const got: Buffer[] = [];
    const [small] = answers(1) as [LargeAnswer];
    for await (const piece of small.pieces(of(...little))) got.push(piece);
    expect(got).toEqual(little);
    for (const answer of inside) answer.leave();
  });

  test("who trickles keeps its place for a minute, who sends enough for as long as it takes", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    async function* sending(bytes: number) {
      yield much;
      for (let second = 0; second < 100; second++) {
        vi.advanceTimersByTime(1000);
        yield Buffer.alloc(bytes);
      }
    }
    const read = async (bytes: number) => {
      const [answer] = answers(1) as [LargeAnswer];
      let length = 0;
      try {
        for await (const piece of answer.pieces(sending(bytes))) length += piece.length;
      } finally {
        answer.leave();
      }
      return length;
    };
    expect(await read(20_000)).toBe(much.length + 100 * 20_000);
    await expect(read(10)).rejects.toMatchObject({ code: "timeout" });
  });

  test.each([
    [
      "openai",
      async () => {
        const server = await Upstream.start(drawing("vllm-omni/image"));
        server.route("/v1/models", (exchange) => exchange.sendJson(404, {}));
        const request = imageRequest({ modelId: "flux", width: 64, height: 48 });
        return { server, request, backend: openaiAt(server.url, { image_models: ["flux"] }) };
      },
    ],
    [
      "comfyui",
      async () => {
        const server = await Comfy.start();
        return { server, request: smallRequest({}), backend: comfyuiAt(server.url) };
      },
    ],
    [
      "rest",
      async () => {
        const server = await Upstream.start((exchange) =>
          exchange.request.method === "POST"
            ? livepeerImages(exchange)
            : exchange.send(200, {}, picture(64, 48, 1)),
        );
        const request = imageRequest({ modelId: "draw", width: 64, height: 48, seed: 1n });
        return { server, request, backend: restAt(server.url) };
      },
    ],
  ] as const)("of %s are not held up by images that nobody reads on", async (_, open) => {
    const { server, request, backend } = await open();
    await backend.ready?.("", never);
    const streams = [];
    for (let i = 0; i < 9; i++) {
      const stream = backend.handlers
        .streamTextToImage?.(callOf("streamTextToImage", request))
        [Symbol.asyncIterator]();
      streams.push(stream);
      for (let drawn = false; !drawn; ) {
        const step = await stream?.next();
        if (!step || step.done) throw new Error("it ended without an image");
        drawn = step.value.some(({ event }) => event.case === "image");
      }
    }
    for (const stream of streams) await stream?.return?.();
    await backend.close();
    await server.close();
  });

  const png = picture(64, 48, 1);
  const imageIn = (more: object) => JSON.stringify({ data: [{ b64_json: base64(png) }], ...more });
  const base64 = (bytes: Buffer) => bytes.toString("base64");
  const hangs: Script = (exchange) => exchange.gone;
  const begins =
    (bytes: Buffer): Script =>
    async (exchange) => {
      await exchange.head(200, { "content-type": "application/json" });
      await exchange.chunk(bytes);
      await exchange.gone;
    };

  test.each([
    ["sends white space while it draws", "/v1/images/generations", begins(Buffer.from(" "))],
    ["stops in the middle of an answer", "/v1/images/generations", begins(much)],
    ["has images at an address that hangs", "/image.png", hangs],
    ["has images of which one hangs half-way", "/image.png", begins(much)],
  ])("of a server that %s hold up no other server", async (_, path, script) => {
    const addresses = { data: [{ url: "/image.png" }] };
    const slow = await Upstream.start((exchange) => exchange.sendJson(200, addresses));
    slow.route(path, script);
    // As much as needs a place.
    const fast = await Upstream.start((exchange) =>
      exchange.send(200, {}, imageIn({ more: "x".repeat(much.length) })),
    );
    const config = { image_models: ["flux"], models: ["flux"], dialect: "vllm" };
    const [one, other] = [openaiAt(slow.url, config), openaiAt(fast.url, config)];
    onTestFinished(async () => {
      await Promise.all([one, other].map((backend) => backend.close()));
      await Promise.all([slow, fast].map((server) => server.close()));
    });
    const held = Array.from({ length: 9 }, () => generate(one, { modelId: "flux" }));
    for (const call of held) call.catch(() => {});
    await slow.received(path === "/image.png" ? 18 : 9);
    const { images } = await generate(other, { modelId: "flux" });
    expect(images).toHaveLength(1);
  });
});
