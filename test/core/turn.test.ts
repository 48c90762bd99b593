import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

  test("of much that is read, some is worked on and written ahead of further reads", async () => {
    const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
    const path = join(folder, "s");
    // Of this kind, since what is written to one is there at once.
    const server = createServer().listen(path);
    await once(server, "listening");
    const pairs: [Socket, Socket][] = [];
    for (let i = 0; i < 70; i++) {
      const client = connect(path);
      const [[socket]] = await Promise.all([once(server, "connection"), once(client, "connect")]);
      pairs.push([client, socket]);
    }
    const done: string[] = [];
    const written = new Promise<void>((resolve) => {
      for (const [, socket] of pairs) {
        socket.on("data", () => {
          done.push("read");
          afterReads(() => {
            done.push("work");
            beforeWrites(() => done.push("record"));
            void Promise.resolve().then(() =>
              writeAtTurnsEnd(() => {
                if (done.push("write") === 4 * pairs.length) resolve();
              }),
            );
          });
        });
      }
    });
    // In one turn, so that the next one finds all of them.
    for (const [client] of pairs) client.write("x");
    await written;
    for (const [client] of pairs) client.destroy();
    server.close();
    await rm(folder, { recursive: true });
    expect(done).toEqual(
      [32, 32, 6].flatMap((count) =>
        ["read", "work", "record", "write"].flatMap((what) => Array(count).fill(what)),
      ),
    );
  });

  test("what one read brings at once is worked on behind it, over HTTP/2 at the turn's end", async () => {
    const span = (what: string, from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, i) => `${what} ${from + i}`);
    const rounds = [
      [1, 32],
      [33, 64],
      [65, 70],
    ].flatMap(([from = 0, to = 0]) => [...span("work", from, to), ...span("write", from, to)]);
    for (const http2 of [false, true]) {
      const done: string[] = [];
      for (let i = 1; i <= 70; i++) {
        afterReads(() => {
          done.push(`work ${i}`);
          writeAtTurnsEnd(() => done.push(`write ${i}`));
        }, http2);
      }
      expect(done).toEqual([]);
      await new Promise<void>((resolve) => process.nextTick(resolve));
      expect(done).toEqual(http2 ? [] : span("work", 1, 32));
      await setImmediate();
      expect(done).toEqual(rounds);
    }
  });
});
