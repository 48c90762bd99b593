/** Who gets a sequence of a chat model, and when. */
import { expect, it } from "vitest";
import { Pool } from "../../src/backends/llama/pool.js";
import { Cancellation } from "../../src/core/cancellation.js";
import { never } from "../support/calls.js";

const any = () => 0;

it("lends what fits best of what is free", async () => {
  const pool = new Pool(["a", "bbb", "bb"]);
  const lent = [1, 2, 3].map(() => pool.acquire(never, (item) => item.length));
  expect(await Promise.all(lent)).toEqual(["bbb", "bb", "a"]);
  pool.release("bb");
  expect(await pool.acquire(never, any)).toBe("bb");
});

it("who waits and leaves hears why, and the others keep their order", async () => {
  const pool = new Pool(["only"]);
  await pool.acquire(never, any);
  const callers = ["first", "second", "third"].map((name) => ({
    name,
    signal: new Cancellation(),
  }));
  const order: string[] = [];
  const waiting = callers.map(async ({ name, signal }) => {
    await pool.acquire(signal, any);
    order.push(name);
    pool.release("only");
  });
  callers[1]?.signal.abort("left");
  await expect(waiting[1]).rejects.toBe("left");
  pool.release("only");
  await Promise.all([waiting[0], waiting[2]]);
  expect(order).toEqual(["first", "third"]);
});

it("who has left, or has had its turn, takes nobody out of the line", async () => {
  const pool = new Pool(["only"]);
  const gone = new Cancellation();
  gone.abort("gone");
  await expect(pool.acquire(gone, any)).rejects.toBe("gone");
  await pool.acquire(never, any);
  const served = new Cancellation();
  const first = pool.acquire(served, any);
  pool.release("only");
  await first;
  const next = pool.acquire(never, any);
  served.abort("done with it");
  pool.release("only");
  expect(await next).toBe("only");
});
