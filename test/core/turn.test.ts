import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { atTurnsEnd, writeAtTurnsEnd } from "../../src/core/turn.js";

describe("the end of a turn", () => {
  test("work, what its promises bring, then the writes of both", async () => {
    const done: string[] = [];
    writeAtTurnsEnd(() => done.push("write"));
    const worked = new Promise<void>((resolve) => {
      atTurnsEnd(() => {
        done.push("work");
        resolve();
      });
    });
    const after = worked.then(() => {
      done.push("promise");
      writeAtTurnsEnd(() => done.push("write of the promise"));
    });
    await Promise.resolve();
    expect(done).toEqual([]);

    await after;
    await setImmediate();

    expect(done).toEqual(["work", "promise", "write", "write of the promise"]);
  });

  test("what comes after the work waits for the next end, and none is forgotten", async () => {
    const done: string[] = [];
    atTurnsEnd(() => {
      done.push("first");
      atTurnsEnd(() => done.push("of the work"));
    });
    writeAtTurnsEnd(() => {
      atTurnsEnd(() => done.push("of the write"));
      writeAtTurnsEnd(() => done.push("write of the write"));
    });
    await setImmediate();
    expect(done).toEqual(["first"]);

    await setImmediate();
    expect(done).toEqual(["first", "of the work", "of the write", "write of the write"]);
  });
});
