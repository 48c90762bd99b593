/** Whose a server's one progress is. */
import { describe, expect, it } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { never } from "../support/calls.js";
import { type Event, imagesOf, progressOf } from "./image-events.js";
import { paint } from "./paint.js";
import { against, failed, run } from "./sdapi-calls.js";
import type { Webui } from "./sdapi-server.js";
import { smallRequest } from "./sdapi-subject.js";
import { callOf } from "./subject.js";

/** A progress in the midst of some work. */
const at = (job_timestamp: string, sampling_step: number) => ({
  state: {
    job: "job",
    job_count: 1,
    job_no: 0,
    job_timestamp,
    sampling_step,
    sampling_steps: 4,
  },
});
const idle = { state: { job: "", job_count: 0 } };

/** Answers looks at the progress in turn; after these the image is made. */
function look(webui: Webui, ...looks: object[]): void {
  webui.upstream.route("/sdapi/v1/progress", (exchange) => {
    const next = looks.shift();
    if (!next) webui.finish();
    return exchange.sendJson(200, next ?? idle);
  });
}

describe("the server's one progress", () => {
  it("is ours while our task runs; until then our place in its queue is told", async () => {
    const { webui, backend } = await against("a1111");
    const other = webui.occupy();
    const request = { numImagesPerPrompt: 2 };
    const events = await run(backend, request, never, (event) => {
      if (event.case === "progress" && event.value.queuePosition) other.done();
    });
    const [first, ...all] = progressOf(events);
    expect(first).toMatchObject({ index: 0, images: 2, step: 0, steps: 4, queuePosition: 1 });
    const rest = all.filter(({ index }) => index === 0);
    const running = rest.filter(({ queuePosition }) => queuePosition === undefined);
    expect(running.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4]);
  });

  it.each(["old", "sdnext"] as const)(
    "of %s is nobody's where something else ran before",
    async (product) => {
      const { webui, backend } = await against(product);
      const other = webui.occupy();
      const running = run(backend);
      await untilAsked(webui);
      other.done();
      webui.finish();
      expect(progressOf(await running).map(({ step }) => step)).toEqual([4]);
    },
  );

  it.each(["a1111", "sdnext"] as const)(
    "of %s tells that somebody interrupted ours: half an image is none",
    async (product) => {
      const { webui, backend } = await against(product);
      const running = run(backend, {}, never, () => {
        webui.halted = true;
      });
      await expect(running).rejects.toThrowError(failed("upstream_failed"));
      webui.halted = false;
      expect(imagesOf(await run(backend))).toHaveLength(1);
    },
  );

  it("interrupts what waits once it runs, and nobody else's", async () => {
    const { webui, backend } = await against("a1111");
    const other = webui.occupy();
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const running = run(backend, {}, caller.signal, () => caller.abort(reason));
    await expect(running).rejects.toBe(reason);
    const interrupted = new Promise<void>((resolve) => {
      webui.onStop = resolve;
    });
    other.done();
    await interrupted;
    expect(webui.interrupted).toEqual(["a red cube"]);
    expect(imagesOf(await run(backend))).toHaveLength(1);
  });

  it("interrupts what runs also where the server was too busy to answer at first", async () => {
    const { webui, backend } = await against("a1111");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const interrupted = new Promise<void>((resolve) => {
      webui.onStop = resolve;
    });
    let late = 3;
    webui.upstream.route("/internal/progress", (exchange) => {
      const active = { active: true, queued: false, completed: false };
      return caller.signal.aborted && late-- > 0
        ? exchange.send(504, {}, "")
        : exchange.sendJson(200, active);
    });
    const running = run(backend, {}, caller.signal, () => caller.abort(reason));
    await expect(running).rejects.toBe(reason);
    await interrupted;
    expect(webui.interrupted).toEqual(["a red cube"]);
  });

  it("is no longer ours where other work took its place, and that is not interrupted", async () => {
    const { webui, backend } = await against("old");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const looks = [idle, at("1", 1), at("1", 2)];
    webui.upstream.route("/sdapi/v1/progress", (exchange) => {
      const look = looks.shift();
      if (!look) caller.abort(reason);
      return exchange.sendJson(200, look ?? at("2", 3));
    });
    const steps: number[] = [];
    const running = run(backend, {}, caller.signal, (event) => {
      if (event.case === "progress") steps.push(event.value.step);
    });
    await expect(running).rejects.toBe(reason);
    expect(steps).toEqual([1, 2]);
    await backend.close();
    expect(webui.interrupted).toEqual([]);
  });

  it.each([
    ["of which it does not know yet how many jobs it is", { job: "", job_count: -1 }],
    ["of which it tells no more than a name", { job: "scripts_img2img", job_count: 0 }],
  ])("is nobody's where something runs before, %s", async (_, state) => {
    const { webui, backend } = await against("old");
    look(webui, { state }, at("1", 1), at("1", 2));
    const running = run(backend);
    await untilAsked(webui);
    await goOn(webui);
    webui.finish();
    expect(progressOf(await running).map(({ step }) => step)).toEqual([4]);
  });

  it.each(["interrupted", "skipped"])(
    "tells once that ours was %s: what is answered is half an image all the same",
    async (word) => {
      const { webui, backend } = await against("old");
      look(webui, idle, { state: { ...at("1", 1).state, [word]: true } }, at("1", 2));
      await expect(run(backend)).rejects.toThrowError(failed("upstream_failed"));
    },
  );

  it("shows a preview once, however often the server does", async () => {
    const { webui, backend } = await against("old");
    const current_image = paint(8, 8, 1, "preview").toString("base64");
    look(webui, idle, { ...at("1", 1), current_image }, { ...at("1", 2), current_image });
    const told = progressOf(await run(backend, { includePreviews: true }));
    expect(told.map(({ step, preview }) => [step, preview.length > 0])).toEqual([
      [1, true],
      [2, false],
      [4, false],
    ]);
  });

  const unknown = { active: false, queued: false, completed: false };
  const running = { ...unknown, active: true };

  it("is ours though the server does not know our task now and then", async () => {
    const { webui, backend } = await against("a1111");
    // Something ran before: by that alone nothing would be told.
    look(webui, at("1", 0), at("1", 1), at("1", 2));
    const tasks = [unknown, unknown, running, unknown, running];
    webui.upstream.route("/internal/progress", (exchange) =>
      exchange.sendJson(200, tasks.shift() ?? running),
    );
    expect(progressOf(await run(backend)).map(({ step }) => step)).toEqual([1, 2, 4]);
  });

  it("is asked no more about a task that the server does not know at three looks", async () => {
    const { webui, backend } = await against("a1111");
    look(webui, idle, at("1", 1), at("1", 2));
    let asked = 0;
    webui.upstream.route("/internal/progress", (exchange) => {
      asked++;
      return exchange.sendJson(200, unknown);
    });
    expect(progressOf(await run(backend)).map(({ step }) => step)).toEqual([1, 2, 4]);
    expect(asked).toBe(3);
  });

  it("interrupts nothing where it may be somebody else's", async () => {
    const { webui, backend } = await against("old");
    webui.occupy();
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const running = run(backend, {}, caller.signal);
    await untilAsked(webui);
    caller.abort(reason);
    await expect(running).rejects.toBe(reason);
    await backend.close();
    expect(webui.interrupted).toEqual([]);
  });
});

describe("calls at once", () => {
  it("are sent one after the other, and who waits knows the place", async () => {
    const { webui, backend } = await against("a1111");
    const runs = ["a", "b", "c"].map((prompt) => run(backend, { prompt }));
    const events = await Promise.all(runs);
    expect(webui.asked.map(({ prompt }) => prompt)).toEqual(["a", "b", "c"]);
    const waiting = events.map((list) =>
      progressOf(list).filter(({ queuePosition }) => queuePosition !== undefined),
    );
    const places = waiting.map((list) => list.map(({ queuePosition }) => queuePosition));
    expect(places).toEqual([[], [1], [2, 1]]);
    for (const progress of waiting.flat()) {
      expect(progress).toMatchObject({ index: 0, images: 1, step: 0, steps: 4 });
    }
  });

  it("with several requests send them all before the next one", async () => {
    const { webui, backend } = await against("a1111");
    await Promise.all([run(backend, { prompt: "a", numImagesPerPrompt: 3 }), run(backend)]);
    expect(webui.asked.map(({ prompt }) => prompt)).toEqual(["a", "a", "a", "a red cube"]);
  });

  it("wait until the server is done with what was interrupted", async () => {
    const { webui, backend } = await against("a1111");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const order: string[] = [];
    webui.upstream.route("/sdapi/v1/interrupt", async (exchange) => {
      await exchange.sendJson(200, {});
      await goOn(webui);
      order.push(`done, asked ${webui.asked.length}`);
      webui.finish();
    });
    const first = run(backend, { prompt: "a" }, caller.signal, () => caller.abort(reason));
    const second = run(backend, { prompt: "b" });
    await expect(first).rejects.toBe(reason);
    expect(imagesOf(await second)).toHaveLength(1);
    expect(order).toEqual(["done, asked 1"]);
  });

  it("are not held up by who reads slowly", async () => {
    const { webui, backend } = await against("a1111");
    const modelId = backend.models()[0]?.id ?? "";
    const call = callOf("streamTextToImage", smallRequest({ modelId, prompt: "a" }));
    const slow = backend.handlers.streamTextToImage?.(call)[Symbol.asyncIterator]();
    await slow?.next();
    webui.finish();
    expect(imagesOf(await run(backend, { prompt: "b" }))).toHaveLength(1);
    const rest: Event[] = [];
    for (let step = await slow?.next(); step && !step.done; step = await slow?.next()) {
      rest.push(...step.value.map(({ event }) => event));
    }
    expect(imagesOf(rest)).toHaveLength(1);
  });

  it("that are given up while they wait are never sent", async () => {
    const { webui, backend } = await against("a1111");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const first = run(backend, { prompt: "a" });
    const second = run(backend, { prompt: "b" }, caller.signal, () => caller.abort(reason));
    await expect(second).rejects.toBe(reason);
    await first;
    await run(backend, { prompt: "c" });
    expect(webui.asked.map(({ prompt }) => prompt)).toEqual(["a", "c"]);
  });
});

/** Until the server was asked for images. */
/** The server works for a while, in which it would be asked what it is not to be asked. */
async function goOn({ upstream }: Webui): Promise<void> {
  for (let i = 0; i < 20; i++) await (await fetch(`${upstream.url}/sdapi/v1/loras`)).text();
}

async function untilAsked({ upstream }: Webui): Promise<void> {
  for (let n = 1; !upstream.requests.some(({ path }) => path.endsWith("/txt2img")); n++) {
    await upstream.received(n);
  }
}
