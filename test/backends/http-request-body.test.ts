import { describe, expect, it } from "vitest";
import { bodyBytes } from "../../src/backends/http/request-body.js";

/** Where Node puts what is small. */
const nodesPool = () => Buffer.from("x").buffer;

describe("bodies of requests to model servers", () => {
  it("are the text as UTF-8, whatever others are made after them", () => {
    const texts = Array.from({ length: 200 }, (_, i) => `${i} ü€😀`.repeat((i * 7) % 450));
    const bodies = texts.map(bodyBytes);
    expect(bodies.map((body) => body.toString("utf8"))).toEqual(texts);
  });

  it("hold no page of Node's pool for as long as a stream runs", () => {
    for (const length of [1, 500, 4096, 4097, 20_000, 100_000]) {
      expect(bodyBytes("x".repeat(length)).buffer, `${length} bytes`).not.toBe(nodesPool());
    }
  });

  it("share pages, so that each takes little more than its bytes", () => {
    const pages = new Set(Array.from({ length: 200 }, () => bodyBytes("x".repeat(400)).buffer));
    expect(pages.size).toBeLessThanOrEqual(11);
  });
});
