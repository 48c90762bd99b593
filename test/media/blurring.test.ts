/** The thread that blurs, from its begin to its end. */
import type { Worker } from "node:worker_threads";
import { PNG } from "pngjs";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { blurPng } from "../../src/media/blur.js";
import { Blurring } from "../../src/media/blurring.js";
import { never } from "../support/calls.js";
import { chunk, headerEnd, picture } from "./pictures.js";

const open: Blurring[] = [];
afterEach(async () => {
  for (const blurring of open.splice(0)) await blurring.close();
});

function blurring(): Blurring {
  const one = new Blurring();
  open.push(one);
  return one;
}

const good = picture(40, 30);
/** Takes a while to be encoded. */
const large = PNG.sync.write(new PNG({ width: 2048, height: 2048 }));
const broken = Buffer.concat([
  good.subarray(0, headerEnd),
  chunk("IDAT", "no zlib at all"),
  chunk("IEND", ""),
]);

test("pictures are blurred one after the other, each in a thread", async () => {
  const threads: string[] = [];
  const watch = (thread: Worker) => {
    threads.push("begins");
    thread.once("exit", () => threads.push("ends"));
  };
  process.on("worker", watch);
  onTestFinished(() => void process.off("worker", watch));
  const one = blurring();
  // The first takes longest.
  const pictures = [picture(600, 400), good, picture(9, 30, 0), picture(64, 8, 6)];
  const order: number[] = [];
  const blur = async (png: Buffer, i: number) => {
    const blurred = Buffer.from(await one.blur(png, never));
    order.push(i);
    expect(blurred.equals(await blurPng(png))).toBe(true);
  };
  await Promise.all(pictures.map(blur));
  expect(order).toEqual([0, 1, 2, 3]);
  expect(threads).toEqual(pictures.flatMap(() => ["begins", "ends"]));
});

test("a picture that can't be decoded is the model server's fault, and holds nobody up", async () => {
  const one = blurring();
  const failed = one.blur(broken, never);
  const next = one.blur(good, never);
  await expect(failed).rejects.toMatchObject({ code: "upstream_failed" });
  expect((await next).length).toBeGreaterThan(0);
});

test.each([
  ["without a word", undefined, "the thread that blurs ended"],
  // As Node tells what a thread did not catch, or that it had no memory left.
  ["by an error", new Error("out of memory"), "out of memory"],
])(
  "a thread that ends early %s is a fault of the gateway, and holds nobody up",
  async (_, error, message) => {
    process.once("worker", (thread: Worker) => {
      if (error) thread.emit("error", error);
      void thread.terminate();
    });
    const one = blurring();
    const failed = one.blur(large, never);
    const next = one.blur(good, never);
    await expect(failed).rejects.toMatchObject({
      code: "internal",
      message: "an image could not be blurred",
      cause: { message },
    });
    expect((await next).length).toBeGreaterThan(0);
  },
);

test("whoever leaves is told at once, its thread is ended, and the next one's turn comes", async () => {
  const codes: number[] = [];
  const watch = (thread: Worker) => void thread.once("exit", (code) => codes.push(code));
  process.on("worker", watch);
  onTestFinished(() => void process.off("worker", watch));
  const runs = new Promise<void>((resolve) => {
    process.once("worker", (thread: Worker) => thread.once("online", () => resolve()));
  });
  const one = blurring();
  const [running, waiting] = [new AbortController(), new AbortController()];
  const reason = new LintelError("cancelled", "the caller left");
  const left = [one.blur(large, running.signal), one.blur(large, waiting.signal)];
  const next = one.blur(good, never);
  waiting.abort(reason);
  await expect(left[1]).rejects.toBe(reason);
  await runs;
  running.abort(reason);
  await expect(left[0]).rejects.toBe(reason);
  expect((await next).length).toBeGreaterThan(0);
  // Of a thread that is ended from outside Node says 1.
  expect(codes).toEqual([1, 0]);
});

test("for who left while others were before no thread begins", async () => {
  let threads = 0;
  const watch = () => void threads++;
  process.on("worker", watch);
  onTestFinished(() => void process.off("worker", watch));
  const one = blurring();
  const leaving = new AbortController();
  const blurred = [one.blur(large, never), one.blur(good, leaving.signal), one.blur(good, never)];
  leaving.abort(new LintelError("cancelled", "the caller left"));
  await Promise.allSettled(blurred);
  expect(threads).toBe(2);
});

test("closing ends what is being blurred and what waits, and refuses what comes", async () => {
  const one = blurring();
  const begun = new Promise<void>((resolve) => process.once("worker", () => resolve()));
  const failed = [one.blur(large, never), one.blur(good, never)].map((blur) =>
    blur.then(
      () => "blurred",
      ({ code }: LintelError) => code,
    ),
  );
  await begun;
  await one.close();
  expect(await Promise.all(failed)).toEqual(["shutting_down", "shutting_down"]);
  await expect(one.blur(good, never)).rejects.toMatchObject({ code: "shutting_down" });
});
