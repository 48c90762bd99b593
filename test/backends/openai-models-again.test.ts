/** A server's list of models as it is read again, while it changes or is away. */
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { dialectOf } from "../../src/backends/openai/dialects.js";
import type { Listed } from "../../src/backends/openai/listed.js";
import { Models } from "../../src/backends/openai/models.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";

describe("reading the list again", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
  });

  function modelsOf(list: () => Promise<Listed[]>, refresh = 60_000, log = silent) {
    const models = new Models({
      backend: "gpu-1",
      refresh,
      log,
      list,
      dialect: (listed) => dialectOf("auto", new URL("http://h"), listed),
    });
    onTestFinished(() => models.close());
    return models;
  }

  const one = { id: "a", created: 1, ownedBy: "vllm" };

  it("finds new models, and keeps the array where there are none", async () => {
    let listed = [one];
    const models = modelsOf(async () => listed);
    await models.ready();
    const before = models.list();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(models.list()).toBe(before);
    listed = [one, { ...one, id: "b" }];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(models.list().map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("knows the first ten thousand of a list without end, and says so once", async () => {
    const heard = vi.fn();
    const listed = Array.from({ length: 300_000 }, (_, i) => ({ ...one, id: `m${i}` }));
    const models = modelsOf(async () => listed, 60_000, { ...silent, warn: heard });
    await models.ready();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(models.list()).toHaveLength(10_000);
    expect(models.list().at(-1)?.id).toBe("m9999");
    expect(heard.mock.calls).toEqual([
      [
        { backend: "gpu-1", listed: 300_000, known: 10_000 },
        expect.stringContaining("too many models"),
      ],
    ]);
  });

  it("keeps the last list while the server is away, and asks less and less often", async () => {
    let asked = 0;
    let away = false;
    const models = modelsOf(async () => {
      asked += 1;
      if (away) throw new LintelError("upstream_unreachable", "away");
      return [one];
    });
    await models.ready();
    away = true;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(models.list()).toMatchObject([{ id: "a", state: State.FAILED, stateDetail: "away" }]);
    await expect(models.ready()).rejects.toMatchObject({ code: "upstream_unreachable" });
    const times: number[] = [];
    for (let second = 1, last = asked; second <= 20; second++) {
      await vi.advanceTimersByTimeAsync(1000);
      if (asked !== last) times.push(second);
      last = asked;
    }
    expect(times).toEqual([1, 3, 7, 15]);
    away = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(models.list()).toMatchObject([{ id: "a", state: State.READY, stateDetail: "" }]);
  });

  it("is done once where it is not wanted again, but not before it succeeded", async () => {
    let asked = 0;
    const models = modelsOf(async () => {
      asked += 1;
      if (asked < 10) throw new LintelError("upstream_unreachable", "away");
      return [one];
    }, 0);
    await expect(models.ready()).rejects.toMatchObject({ code: "upstream_unreachable" });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(models.list()).toMatchObject([{ id: "a", state: State.READY }]);
    expect(asked).toBe(10);
  });

  it("ends when it is closed", async () => {
    let asked = 0;
    const models = modelsOf(async () => {
      asked += 1;
      return [one];
    });
    await models.ready();
    models.close();
    await vi.advanceTimersByTimeAsync(600_000);
    await models.refresh();
    expect(asked).toBe(1);
  });
});
