/** Waiting for clients that read slowly. */
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { drained } from "../../src/doors/drained.js";

test.each([
  ["has read", (stream: PassThrough) => void stream.resume()],
  ["left", (stream: PassThrough) => void stream.destroy()],
])("ends when the client %s, and leaves no listener behind", async (_, act) => {
  const stream = new PassThrough({ highWaterMark: 1 });
  const counts = () => ["drain", "close"].map((event) => stream.listenerCount(event));
  const before = counts();
  stream.write("abc");
  const waiting = drained(stream);
  act(stream);
  await waiting;
  expect(counts()).toEqual(before);
  stream.destroy();
  if (!stream.closed) await once(stream, "close");
});
