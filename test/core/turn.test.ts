import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { afterReads, beforeWrites, writeAtTurnsEnd } from "../../src/core/turn.js";

describe("the end of a turn", () => {
  test("what was read, then work, then writes, each with what its promises bring", async () => {
    const done: string[] = [];
    const did = (what: string) => () => void done.push(what);
    writeAtTurnsEnd(did("write"));
    beforeWrites(did("work"));
    for (const name of ["first", "second"]) {
      afterReads(() => {
        done.push(name);
        void Promise.resolve().then(did(`promise of the ${name}`));
        beforeWrites(did(`work of the ${name}`));
      });
    }
    await Promise.resolve();
    expect(done).toEqual([]);

    await setImmediate();
    expect(done).toEqual([
      "first",
      "second",
      "promise of the first",
      "promise of the second",
      "work",
      "work of the first",
      "work of the second",
      "write",
    ]);
  });

  test("work, what its promises bring, then the writes of both", async () => {
    const done: string[] = [];
    writeAtTurnsEnd(() => done.push("write"));
    const worked = new Promise<void>((resolve) => {
      beforeWrites(() => {
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
    beforeWrites(() => {
      done.push("first");
      afterReads(() => done.push("read by the work"));
      beforeWrites(() => done.push("of the work"));
    });
    writeAtTurnsEnd(() => {
      beforeWrites(() => done.push("of the write"));
      writeAtTurnsEnd(() => done.push("write of the write"));
    });
    await setImmediate();
    expect(done).toEqual(["first"]);

    await setImmediate();
    expect(done).toEqual([
      "first",
      "read by the work",
      "of the work",
      "of the write",
      "write of the write",
    ]);
  });

  test("of much that was read together, some is worked on and written ahead of the rest", async () => {
    const done: string[] = [];
    for (let i = 1; i <= 70; i++) {
      afterReads(() => {
        done.push(`read ${i}`);
        void Promise.resolve().then(() => writeAtTurnsEnd(() => done.push(`write ${i}`)));
      });
    }
    await setImmediate();

    const span = (what: string, from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, i) => `${what} ${from + i}`);
    expect(done).toEqual([
      ...span("read", 1, 32),
      ...span("write", 1, 32),
      ...span("read", 33, 64),
      ...span("write", 33, 64),
      ...span("read", 65, 70),
      ...span("write", 65, 70),
    ]);
  });
});
