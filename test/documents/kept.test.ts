/** What is known of documents that were read a moment ago, and for how long. */
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { KeptTexts } from "../../src/documents/kept.js";
import { PdfReader } from "../../src/documents/reader.js";
import { never } from "../support/calls.js";
import { lines, pdf } from "./pdf.js";
import { processes } from "./processes.js";

const open: KeptTexts[] = [];
afterEach(async () => {
  for (const texts of open.splice(0)) await texts.close();
});

function texts(): KeptTexts {
  const one = new KeptTexts(new PdfReader({ timeout: 600_000 }));
  open.push(one);
  return one;
}

test("that one caller left says nothing of the document to the next", async () => {
  const one = texts();
  const small = pdf([lines("Hello")]);
  const reason = new LintelError("cancelled", "the caller left");
  await expect(one.read(small, "me", AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(await one.read(small, "you", never)).toMatchObject({ text: "Hello" });
});

test("as much is kept as has room, with what is said about each", async () => {
  let asked = 0;
  const one = new KeptTexts({
    async read() {
      asked++;
      return { text: "a", about: "x".repeat(9 * 2 ** 20), pages: 1, blank: 0, damaged: false };
    },
    close: async () => {},
  });
  const read = async (name: string) => {
    await one.read(Buffer.from(name), "me", never);
    return asked;
  };
  expect([await read("a"), await read("a"), await read("b"), await read("a")]).toEqual([
    1, 1, 2, 3,
  ]);
});

test("one that can't be read is tried again after a minute", async () => {
  const { begun } = processes();
  const one = texts();
  const broken = () =>
    expect(one.read(Buffer.from("%PDF-1.7"), "me", never)).rejects.toMatchObject({
      code: "invalid_value",
    });
  await broken();
  await broken();
  expect(begun).toHaveLength(1);
  const later = performance.now() + 60_001;
  const now = vi.spyOn(performance, "now").mockImplementation(() => later);
  onTestFinished(() => now.mockRestore());
  // Those who keep texts look at the clock once in a millisecond.
  await vi.waitFor(async () => {
    await broken();
    expect(begun).toHaveLength(2);
  });
});
