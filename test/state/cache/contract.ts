/** What every store of answers does. */
import { describe, expect, it } from "vitest";
import type { AnswerCache } from "../../../src/core/cache/store.js";

/** A name as the core makes them, of 43 characters. */
export const nameOf = (text: string): string => text.padEnd(43, "-");

/** Runs the suite. @param open a store with room for some answers, as often as it is asked for */
export function cacheContract(what: string, open: () => Promise<AnswerCache>): void {
  describe(`keeps answers ${what}`, () => {
    it("by their names, byte for byte, until another one comes", async () => {
      const store = await open();
      const all = Uint8Array.from({ length: 256 }, (_, i) => i);
      // A part of other bytes.
      store.put(nameOf("a"), all.subarray(100, 200), 60_000);
      store.put(nameOf("b"), all, 60_000);
      await expect.poll(async () => store.get(nameOf("b"))).toBeDefined();
      const read = async (name: string) => [...((await store.get(nameOf(name))) ?? [])];
      expect(await read("a")).toEqual([...all.subarray(100, 200)]);
      expect(await read("b")).toEqual([...all]);
      expect(await store.get(nameOf("c"))).toBeUndefined();
      store.put(nameOf("a"), Uint8Array.of(7), 60_000);
      await expect.poll(() => read("a")).toEqual([7]);
      await store.close();
    });
  });
}
