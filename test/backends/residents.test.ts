/** The memory budget: who leaves, who may come, and that nobody's call is cut. */
import { describe, expect, it } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { createLlamaBackend } from "../../src/backends/llama/index.js";
import { llamaSchema } from "../../src/backends/llama/schema.js";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import type {
  Admit,
  Resident,
  ResidentBackend,
  ResidentState,
} from "../../src/backends/resident.js";
import { Residents } from "../../src/backends/residents.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { answer, chatRequest, start, tiny, trained } from "./llama-subject.js";
import { ParityModels } from "./onnx/parity.js";
import { requestOf } from "./onnx/support.js";
import { callOf } from "./subject.js";

const MB = 1e6;

/** A model that takes no memory, and does as it is told. */
class Fake implements Resident {
  readonly id: string;
  bytes: number;
  readonly #residents: Residents;
  #loaded: Promise<void> = Promise.resolve();
  state: ResidentState = "idle";
  lastUsed = 0;
  calls = 0;
  unloads = 0;
  /** What a load, before it asks and after, and an unload wait for. */
  reading: Promise<void> = Promise.resolve();
  loading: Promise<void> = Promise.resolve();
  unloading: Promise<void> = Promise.resolve();

  constructor(residents: Residents, id: string, megabytes: number) {
    this.#residents = residents;
    this.id = id;
    this.bytes = megabytes * MB;
  }

  load(): Promise<void> {
    if (this.state !== "ready" && this.state !== "loading") this.#loaded = this.#load();
    return this.#loaded;
  }

  async #load(): Promise<void> {
    this.state = "loading";
    try {
      await this.reading;
      await this.#residents.admit(this);
      await this.loading;
      this.state = "ready";
    } catch (error) {
      this.state = "failed";
      throw error;
    }
  }

  /** Asks for more, in megabytes. */
  async grow(more: number): Promise<void> {
    this.bytes += more * MB;
    try {
      await this.#residents.admit(this);
    } catch (error) {
      this.bytes -= more * MB;
      throw error;
    }
  }

  async unload(): Promise<void> {
    this.unloads++;
    await this.unloading;
    this.state = "idle";
  }
}

/** Models of these sizes, the first used first, under a budget; megabytes. */
function stage(budget: number, ...sizes: number[]) {
  const residents = new Residents(budget * MB, silent);
  return sizes.map((size, i) => {
    const fake = new Fake(residents, `model-${i}`, size);
    fake.lastUsed = i + 1;
    return fake;
  }) as [Fake, Fake, Fake, Fake];
}

const states = (fakes: readonly Fake[]) => fakes.map(({ state }) => state).join(" ");

describe("residents", () => {
  it("all stay that fit together", async () => {
    const fakes = stage(10, 4, 3, 3);
    for (const fake of fakes) await fake.load();
    expect(states(fakes)).toBe("ready ready ready");
  });

  it("who was not wanted longest leaves, and no more than must", async () => {
    const fakes = stage(10, 4, 4, 5);
    fakes[0].lastUsed = 9;
    for (const fake of fakes) await fake.load();
    expect(states(fakes)).toBe("ready idle ready");
  });

  it("several leave for a large one", async () => {
    const fakes = stage(10, 4, 4, 9);
    for (const fake of fakes) await fake.load();
    expect(states(fakes)).toBe("idle idle ready");
  });

  it("one without calls leaves before one with calls, however long ago that was used", async () => {
    const fakes = stage(10, 4, 4, 5);
    await fakes[0].load();
    await fakes[1].load();
    fakes[0].calls = 1;
    await fakes[2].load();
    expect(states(fakes)).toBe("ready idle ready");
  });

  it("waits until a model's calls are over", async () => {
    const fakes = stage(5, 4, 4);
    await fakes[0].load();
    fakes[0].calls = 1;
    let over = () => {};
    fakes[0].unloading = new Promise((resolve) => {
      over = resolve;
    });
    const loading = fakes[1].load();
    await expect.poll(() => fakes[0].unloads).toBe(1);
    expect(states(fakes)).toBe("ready loading");
    over();
    await loading;
    expect(states(fakes)).toBe("idle ready");
  });

  it("refuses what is larger than the budget, with the numbers, and nobody leaves for it", async () => {
    const fakes = stage(5, 4, 6);
    await fakes[0].load();
    await expect(fakes[1].load()).rejects.toMatchObject({
      code: "model_not_loaded",
      message: "model-1: the model needs about 6 MB of memory, more than the memory budget of 5 MB",
    });
    expect(states(fakes)).toBe("ready failed");
  });

  it("others leave for one that is in memory and wants more, and no more than must", async () => {
    const fakes = stage(10, 4, 3, 3);
    for (const fake of fakes) await fake.load();
    fakes[0].calls = 1;
    await fakes[0].grow(2);
    expect(states(fakes)).toBe("ready idle ready");
    // What it took counts.
    await fakes[1].load();
    expect(states(fakes)).toBe("ready ready idle");
  });

  it("refuses more than the budget to one in memory, which stays and still counts", async () => {
    const fakes = stage(10, 4, 4, 6);
    await fakes[0].load();
    await fakes[1].load();
    await expect(fakes[0].grow(7)).rejects.toMatchObject({
      code: "model_not_loaded",
      message:
        "model-0: the model needs about 11 MB of memory, more than the memory budget of 10 MB",
    });
    expect(states(fakes)).toBe("ready ready idle");
    await fakes[2].load();
    expect(states(fakes)).toBe("idle ready ready");
  });

  it("gives more to one that another waits for: its call would never end", async () => {
    const fakes = stage(10, 4, 4, 6);
    const [grows, idle, comes] = fakes;
    await grows.load();
    await idle.load();
    grows.calls = 1;
    idle.calls = 1;
    let over = () => {};
    grows.unloading = new Promise((resolve) => {
      over = resolve;
    });
    const coming = comes.load();
    await expect.poll(() => grows.unloads).toBe(1);
    idle.calls = 0;
    await grows.grow(4);
    expect(states(fakes)).toBe("ready idle loading");
    over();
    await coming;
    expect(states(fakes)).toBe("idle idle ready");
  });

  it("two that want more at once don't wait for each other", async () => {
    const [first, second] = stage(10, 4, 4);
    let over = () => {};
    second.unloading = new Promise((resolve) => {
      over = resolve;
    });
    for (const fake of [first, second]) {
      await fake.load();
      fake.calls = 1;
    }
    const growing = first.grow(3);
    await expect(second.grow(1)).rejects.toMatchObject({
      code: "overloaded",
      message: "model-1: the memory budget has no room for more now",
    });
    over();
    await growing;
    expect(states([first, second])).toBe("ready idle");
  });

  it("counts a model that is still being loaded, and waits for it", async () => {
    const fakes = stage(5, 4, 4);
    let loaded = () => {};
    fakes[0].loading = new Promise((resolve) => {
      loaded = resolve;
    });
    const both = [fakes[0].load(), fakes[1].load()];
    await Promise.resolve();
    expect(states(fakes)).toBe("loading loading");
    loaded();
    await Promise.all(both);
    expect(states(fakes)).toBe("idle ready");
  });

  it("does not count a model that could not be loaded, or has gone by itself", async () => {
    const fakes = stage(5, 4, 4, 4);
    fakes[0].loading = Promise.reject(new Error("broken"));
    await expect(fakes[0].load()).rejects.toThrow("broken");
    await fakes[1].load();
    fakes[1].state = "idle";
    await fakes[2].load();
    expect(fakes.map(({ unloads }) => unloads)).toEqual([0, 0, 0]);
  });

  it("does not wait for one that could not be loaded and is tried again behind it", async () => {
    const fakes = stage(5, 4, 4);
    fakes[0].loading = Promise.reject(new Error("broken"));
    await expect(fakes[0].load()).rejects.toThrow("broken");
    fakes[0].loading = Promise.resolve();
    let read = () => {};
    fakes[0].reading = new Promise((resolve) => {
      read = resolve;
    });
    const both = [fakes[0].load(), fakes[1].load()];
    await new Promise(setImmediate);
    expect(states(fakes)).toBe("loading loading");
    read();
    await Promise.all(both);
    expect(states(fakes)).toBe("ready idle");
  });

  it("two models that take turns both get theirs", async () => {
    const fakes = stage(5, 4, 4);
    for (let i = 0; i < 4; i++) await Promise.all([fakes[0].load(), fakes[1].load()]);
    expect(states(fakes).split(" ").sort()).toEqual(["idle", "ready"]);
  });
});

describe("real models under a budget", () => {
  /** Two of the same file: about 0.6 MB each, and room for one. */
  function pair(budget: number, path = tiny) {
    const { admit } = new Residents(budget, silent);
    return ["a", "b"].map((name) =>
      createLlamaBackend(llamaSchema.parse({ type: "llama", name, id: name, path, load: "lazy" }), {
        log: silent,
        admit,
      }),
    );
  }
  /** The bytes of a picture. */
  async function draw(
    { handlers }: ResidentBackend,
    changes: Parameters<typeof requestOf>[0] = {},
  ): Promise<Buffer | undefined> {
    const call = callOf("streamTextToImage", requestOf(changes));
    for await (const batch of handlers.streamTextToImage?.(call) ?? []) {
      for (const { event } of batch) {
        if (event.case === "image") return Buffer.from(event.value.media?.data ?? []);
      }
    }
    return undefined;
  }
  const state = (backend: { models(): readonly { state: State }[] } | undefined) =>
    backend?.models()[0]?.state;

  it("take turns in memory, and each answers", async () => {
    // What one takes is reckoned by the engine: its budget is found out, not guessed.
    const seen: number[] = [];
    const probe = createLlamaBackend(
      llamaSchema.parse({ type: "llama", name: "probe", path: tiny }),
      {
        log: silent,
        admit: async ({ bytes }) => void seen.push(bytes),
      },
    );
    await answer(probe, chatRequest("hello"));
    await probe.close();
    const [a, b] = pair((seen[0] ?? 0) * 1.5);
    if (!a || !b) throw new Error("two are made");
    expect([state(a), state(b)]).toEqual([State.IDLE, State.IDLE]);
    const first = await answer(a, chatRequest("hello", { maxTokens: 20 }));
    expect([state(a), state(b)]).toEqual([State.READY, State.IDLE]);

    // A call that runs is not cut: b waits for its end.
    const running = start(a, chatRequest("hello", { maxTokens: 20 }));
    let text = (await running.next()).value?.[0]?.choices[0]?.delta?.content ?? "";
    const waiting = answer(b, chatRequest("hello", { maxTokens: 20 }));
    await expect.poll(() => state(b)).toBe(State.LOADING);
    for (let next = await running.next(); !next.done; next = await running.next()) {
      text += next.value[0]?.choices[0]?.delta?.content ?? "";
    }
    expect(text).toBe(first.text);
    expect((await waiting).text).toBe(first.text);
    expect([state(a), state(b)]).toEqual([State.IDLE, State.READY]);

    expect((await answer(a, chatRequest("hello", { maxTokens: 20 }))).text).toBe(first.text);
    expect([state(a), state(b)]).toEqual([State.READY, State.IDLE]);
    await Promise.all([a.close(), b.close()]);
  });

  it("image models do, too, beside chat models", async () => {
    const models = await ParityModels.unpack("sd15");
    const seen: Record<string, number> = {};
    const log = silent;
    const parts = (admit: Admit) => {
      const image = (name: string) =>
        createOnnxBackend(
          { type: "onnx", name, id: name, path: models.folder("sd15"), threads: 1, load: "lazy" },
          { log, admit },
        );
      const config = { type: "llama", name: "chat", id: "chat", path: tiny, load: "lazy" };
      const chat = createLlamaBackend(llamaSchema.parse(config), { log, admit });
      return { a: image("a"), b: image("b"), c: image("c"), chat };
    };
    const probe = parts(async ({ id, bytes }) => {
      seen[id] = bytes;
    });
    const wanted = await draw(probe.a);
    await answer(probe.chat, chatRequest("hello"));
    await Promise.all(Object.values(probe).map((one) => one.close()));

    const { a: each = 0, chat: whole = 0 } = seen;

    /** Models are called one after the other; who is in memory then. */
    const play = async (
      budget: number,
      steps: readonly (readonly [keyof typeof probe, string])[],
    ) => {
      const all = parts(new Residents(budget, silent).admit);
      for (const [id, stay] of steps) {
        if (id === "chat") await answer(all.chat, chatRequest("hello"));
        else expect(await draw(all[id])).toEqual(wanted);
        const ready = Object.entries(all).filter(([, one]) => state(one) === State.READY);
        expect(ready.map(([name]) => name).join(" ")).toBe(stay);
      }
      await Promise.all(Object.values(all).map((one) => one.close()));
    };
    await play(2.2 * each, [
      ["a", "a"],
      ["b", "a b"],
      ["a", "a b"],
      ["c", "a c"],
      ["b", "b c"],
    ]);
    await play(whole + 0.5 * each, [
      ["a", "a"],
      ["chat", "chat"],
      ["a", "a"],
    ]);
    await models.remove();
  });

  it("an image model asks for its LoRAs, and does without where they don't fit", async () => {
    const models = await ParityModels.unpack("sd15");
    const path = models.folder("sd15");
    const under = (admit: Admit, id = "a") => {
      const config = { type: "onnx", name: id, id, path, threads: 1, load: "lazy" } as const;
      return createOnnxBackend(config, { log: silent, admit });
    };
    const request = { numInferenceSteps: 1, loras: '{"plain": 1}' };
    const asked: number[] = [];
    const probe = under(async ({ bytes }) => void asked.push(bytes));
    const fused = await draw(probe, request);
    await probe.close();
    const [alone = 0, both = 0] = asked;
    expect(both).toBeGreaterThan(1.1 * alone);

    const { admit } = new Residents(both + 0.9 * alone, silent);
    const [a, b] = [under(admit), under(admit, "b")];
    const [resident] = a.residents;
    await Promise.all([resident?.load(), b.residents[0]?.load()]);
    expect([resident?.bytes, state(b)]).toEqual([alone, State.READY]);
    expect(await draw(a, request)).toEqual(fused);
    expect([resident?.bytes, state(b)]).toEqual([both, State.IDLE]);
    await resident?.unload();
    expect(resident?.bytes).toBe(alone);
    await Promise.all([a.close(), b.close()]);

    const narrow = under(new Residents((alone + both) / 2, silent).admit);
    await expect(draw(narrow, request)).rejects.toMatchObject({
      code: "invalid_value",
      param: "loras",
      message: expect.stringMatching(/^loras: with them fused: a: the model needs about .* budget/),
    });
    expect(narrow.residents[0]).toMatchObject({ bytes: alone, state: "ready" });
    expect(await draw(narrow, { numInferenceSteps: 1 })).toBeDefined();
    await narrow.close();
    await models.remove();
  });

  it("make room for others once their backend is closed", async () => {
    const models = await ParityModels.unpack("sd15");
    const path = models.folder("sd15");
    const chats = (admit: Admit) => (id: string) =>
      createLlamaBackend(
        llamaSchema.parse({ type: "llama", name: id, id, path: tiny, load: "lazy" }),
        {
          log: silent,
          admit,
        },
      );
    const images = (admit: Admit) => (id: string) =>
      createOnnxBackend(
        { type: "onnx", name: id, id, path, threads: 1, load: "lazy" },
        { log: silent, admit },
      );
    for (const kind of [chats, images]) {
      let bytes = 0;
      const probe = kind(async (resident) => {
        bytes = resident.bytes;
      })("probe");
      await probe.ready?.("probe", never);
      await probe.close();
      expect(state(probe)).toBe(State.IDLE);

      const make = kind(new Residents(2.5 * bytes, silent).admit);
      const [stays, closed, next] = [make("stays"), make("closed"), make("next")];
      await stays.ready?.("stays", never);
      await closed.ready?.("closed", never);
      await closed.close();
      await next.ready?.("next", never);
      expect([state(stays), state(next)]).toEqual([State.READY, State.READY]);
      await Promise.all([stays.close(), next.close()]);
    }
    await models.remove();
  });

  it("one that is larger than the budget says so", async () => {
    const [a, b] = pair(2 * MB, trained);
    await expect(answer(a as never, chatRequest("hello"))).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringMatching(/^a: the model needs about \d+ MB .* budget of 2 MB$/),
    });
    expect(state(a)).toBe(State.FAILED);
    await Promise.all([a?.close(), b?.close()]);
  });
});
