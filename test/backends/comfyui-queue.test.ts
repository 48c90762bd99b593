/** ComfyUI's queue: waiting in it, and leaving it. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { never } from "../support/calls.js";
import { against, run, thrownBy } from "./comfyui-calls.js";
import { linesOf, type Play, play } from "./comfyui-server.js";
import { fixture } from "./fixture.js";
import { imagesOf } from "./image-events.js";

describe("the queue", () => {
  it("tells how many are before, and goes on where the websocket ends", async () => {
    const { comfy, backend } = await against();
    const others = [comfy.occupy("a"), comfy.occupy("b")];
    const places: number[] = [];
    const events = await run(backend, {}, never, (event) => {
      if (event.case !== "progress" || event.value.queuePosition === undefined) return;
      expect(event.value).toMatchObject({ index: 0, images: 1, step: 0, steps: 4 });
      places.push(event.value.queuePosition);
      comfy.hangUp();
      others.shift()?.done();
    });
    expect(places).toEqual([2, 1]);
    expect(imagesOf(events)).toHaveLength(1);
  });

  // Sooner than after the silence of a websocket that goes on.
  const soon = { timeout: 20_000 };
  it(
    "is asked what became of a prompt where the websocket ends while it is made",
    soon,
    async () => {
      const { comfy, backend } = await against();
      comfy.stuck = "middle";
      const events = await run(backend, {}, never, () => {
        comfy.hangUp();
        comfy.halt();
      });
      expect(imagesOf(events)).toHaveLength(1);
    },
  );

  it("is asked what became of a prompt where the websocket says nothing for half a minute", async () => {
    const { comfy, backend } = await against({ poll: "10s" });
    const looks = () => comfy.requests.filter(({ path }) => path === "/queue").length;
    const [, started = "", , , step = ""] = linesOf("messages");
    comfy.messages = [started, step];
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let told = 0;
    let begun = () => {};
    const sampling = new Promise<void>((resolve) => {
      begun = resolve;
    });
    // The begin, and a step.
    const made = run(backend, {}, never, () => ++told === 2 && begun());
    await sampling;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(looks()).toBe(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(imagesOf(await made)).toHaveLength(1);
    expect(looks()).toBe(1);
  });

  it("is left by who gives up, and nobody else is interrupted", async () => {
    const { comfy, backend } = await against();
    comfy.old = true;
    comfy.occupy("somebody");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const stopped = new Promise<void>((resolve) => {
      comfy.onStop = resolve;
    });
    const running = run(backend, {}, caller.signal, () => caller.abort(reason));
    expect(await thrownBy(running)).toBe(reason);
    await stopped;
    await backend.close();
    expect(comfy.deleted).toHaveLength(1);
    expect(comfy.interrupted).toEqual([]);
    expect(comfy.listeners).toBe(0);
  });

  it("is left also by who gave up before the prompt was taken in", async () => {
    const { comfy, backend } = await against();
    comfy.occupy("somebody");
    const caller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    const stopped = new Promise<void>((resolve) => {
      comfy.onStop = resolve;
    });
    // The request is on its way when the caller leaves.
    comfy.next.push({ path: "/object_info/LoraLoader", play: play(fixture("comfyui/loras")) });
    const running = run(backend, { loras: '{"pixel-art-v2":1}' }, caller.signal);
    await comfy.asked("/prompt");
    caller.abort(reason);
    expect(await thrownBy(running)).toBe(reason);
    await stopped;
    expect(comfy.deleted).toHaveLength(1);
  });

  it("is left also where the answer to the prompt does not come in its time", async () => {
    const { comfy, backend } = await against();
    comfy.occupy("somebody");
    const stopped = new Promise<void>((resolve) => {
      comfy.onStop = resolve;
    });
    const held = new Promise<string>((resolve) => {
      const play = () => {
        const { prompt_id: id } = JSON.parse(comfy.requests.at(-1)?.body ?? "");
        comfy.occupy(id);
        resolve(id);
      };
      comfy.next.push({ path: "/prompt", play });
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const error = thrownBy(run(backend));
    const id = await held;
    vi.advanceTimersByTime(30_000);
    expect(await error).toMatchObject({ code: "timeout", retry: "anywhere" });
    await stopped;
    expect(comfy.deleted).toEqual([id]);
  });

  it("may take too long to tell, some times in a row, also where a prompt is done or given up", async () => {
    const { comfy, backend } = await against();
    // As a proxy says it before a ComfyUI that answers nothing while it draws.
    const late = (path: string, times: number) => {
      const play: Play = (response) => void response.writeHead(504).end();
      for (let i = 0; i < times; i++) comfy.next.push({ path, play });
    };
    const other = comfy.occupy("somebody");
    late("/queue", 9);
    late("/history", 9);
    late("/view", 9);
    const events = await run(backend, {}, never, () => other.done());
    expect(imagesOf(events)).toHaveLength(1);
    comfy.occupy("another");
    late("/queue", 10);
    expect(await thrownBy(run(backend))).toMatchObject({ code: "timeout" });
    await vi.waitUntil(() => comfy.deleted.length === 1);
    const caller = new AbortController();
    const left = run(backend, {}, caller.signal, () => {
      late("/queue", 9);
      caller.abort(new LintelError("cancelled", "the caller left"));
    });
    expect(await thrownBy(left)).toMatchObject({ code: "cancelled" });
    await vi.waitUntil(() => comfy.deleted.length === 2);
  });

  it("that forgot the prompt is a failure", async () => {
    const { comfy, backend } = await against();
    comfy.stuck = "before";
    comfy.onStuck = () => {
      comfy.next.push({
        path: "/queue",
        play: (response) => response.end('{"queue_running":[],"queue_pending":[]}'),
      });
    };
    const error = await thrownBy(run(backend));
    expect(error.message).toBe("the model server does not know the request any more");
  });
});
