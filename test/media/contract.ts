/** What every store of images does. */
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { ByteRange, MediaStore } from "../../src/core/media.js";

/** The last part of an image's address. */
export const nameIn = (url: string): string => new URL(url).pathname.split("/").at(-1) ?? "";

/** What the store has under a name. */
export async function bytesOf(
  store: MediaStore,
  name: string,
  range?: ByteRange,
): Promise<Buffer | undefined> {
  const image = await store.get(name);
  return image && buffer(image.read(range));
}

/** @param open a store that is empty, keeps images for a day, and is closed by who made it */
export function storeContract(kind: string, open: () => Promise<MediaStore>): void {
  describe(`${kind}, as every store`, () => {
    test("images come back as they were put, under a name of 128 random bits", async () => {
      const store = await open();
      const before = Date.now();
      const urls = await Promise.all([1, 2, 3].map((size) => store.put(Buffer.alloc(size, 7))));
      expect(new Set(urls).size).toBe(3);
      for (const [i, url] of urls.entries()) {
        const name = nameIn(url);
        expect(name).toMatch(/^[0-9a-f]{32}\.png$/);
        expect(await bytesOf(store, name)).toEqual(Buffer.alloc(i + 1, 7));
        const image = await store.get(name);
        expect(image).toMatchObject({ mimeType: "image/png", size: i + 1 });
        expect(image?.expiresAt).toBeGreaterThan(before);
        await image?.close();
      }
    });

    test("parts of an image can be read", async () => {
      const store = await open();
      const name = nameIn(await store.put(Buffer.from("0123456789")));
      expect(String(await bytesOf(store, name, { start: 2, end: 4 }))).toBe("234");
      expect(String(await bytesOf(store, name, { start: 9, end: 9 }))).toBe("9");
    });

    test("images are gone once they are deleted, and deleting again is no error", async () => {
      const store = await open();
      const name = nameIn(await store.put(Buffer.alloc(3)));
      await store.delete(name);
      await store.delete(name);
      expect(await store.get(name)).toBeUndefined();
    });

    test("names that no store makes are not there", async () => {
      const store = await open();
      for (const name of [
        "",
        "..",
        "../x.png",
        `${"a".repeat(32)}.html`,
        `${"a".repeat(32)}.png`,
      ]) {
        expect(await store.get(name)).toBeUndefined();
      }
    });
  });
}
