/** The memory budget: who leaves, who may come, and that nobody's call is cut. */
import { describe, expect, it } from "vitest";
import type { Resident, ResidentState } from "../../src/backends/resident.js";
import { Residents } from "../../src/backends/residents.js";
import { silent } from "../../src/core/log.js";

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
