/** That images in JSON are read the same however the bytes are cut. */
import { describe, expect, it } from "vitest";
import { Base64Decoder } from "../../src/backends/http/base64.js";
import { ImageBody } from "../../src/backends/openai/images/body.js";
import { LintelError } from "../../src/core/errors.js";

/** Bytes of every value, so that base64 has every letter. */
const bytesOf = (length: number, from = 0) =>
  Buffer.from(Array.from({ length }, (_, i) => (from + i * 151) % 256));

function read(parts: readonly Buffer[]) {
  const body = new ImageBody(3, 64);
  for (const part of parts) body.push(part);
  return { json: JSON.parse(body.text()), images: body.images };
}

/** Pieces of one length, the first shorter. */
function cut(bytes: Buffer, size: number, first: number): Buffer[] {
  const parts = [bytes.subarray(0, first)];
  for (let at = first; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
  return parts;
}

/** Reads it whole, in single bytes, and in pieces that end at every place. */
function everyWay(text: string) {
  const bytes = Buffer.from(text);
  const whole = read([bytes]);
  expect(read(cut(bytes, 1, 0))).toEqual(whole);
  for (let first = 1; first < bytes.length; first++) {
    const halves = read([bytes.subarray(0, first), bytes.subarray(first)]);
    expect(halves, `cut at ${first}`).toEqual(whole);
  }
  for (const size of [2, 3, 5, 7, 64, 301]) {
    expect(read(cut(bytes, size, size - 1)), `pieces of ${size}`).toEqual(whole);
  }
  return whole;
}

const png = bytesOf(150);
const base64 = png.toString("base64");

describe("the body of an answer with images", () => {
  it("gives images as bytes and leaves the rest as it is", () => {
    const others = {
      created: 1,
      // Together AI's word for what follows, in either order.
      type: "b64_json",
      data: [{ b64_json: base64, revised_prompt: 'a “beam”, \\ and "b64_json":"x' }],
    };
    const { json, images } = everyWay(JSON.stringify(others));
    expect(images).toEqual([png]);
    expect(json).toEqual({ ...others, data: [{ ...others.data[0], b64_json: "0" }] });
  });

  it("takes several, of every length and with white space", () => {
    const made = [bytesOf(1), bytesOf(2, 9), bytesOf(300, 5), bytesOf(0)];
    const data = made.map((bytes) => ({ b64_json: bytes.toString("base64") }));
    const { json, images } = everyWay(
      JSON.stringify({ data }, undefined, 3).replaceAll(":", " \n: "),
    );
    expect(images).toEqual(made);
    expect(json.data.map((entry: { b64_json: string }) => entry.b64_json)).toEqual([
      "0",
      "1",
      "2",
      "3",
    ]);
  });

  it("takes several in data: URLs", () => {
    const url = { b64_json: `data:image/png;base64,${base64}` };
    const other = { b64_json: `DATA:image/PNG;BASE64,${base64}` };
    expect(everyWay(JSON.stringify({ data: [url, other] })).images).toEqual([png, png]);
  });

  it("takes what has no image as it is", () => {
    for (const value of [
      { data: [{ url: "http://here/1.png", b64_json: null }] },
      { error: { message: 'b64_json: "no"' } },
      { b64_json: 7 },
    ]) {
      expect(everyWay(JSON.stringify(value))).toEqual({ json: value, images: [] });
    }
  });

  it.each([
    ["escapes", base64.replaceAll("/", "\\/").replaceAll("+", "\\u002b")],
    ["a data: URL", `data:image/png;base64,${base64}`],
    ["a data: URL with escapes", `data:image\\/png;base64,${base64.replaceAll("/", "\\/")}`],
    ["lines", base64.replace(/.{76}/g, "$&\\n")],
    ["no padding", base64.replaceAll("=", "")],
    ["the letters of addresses", png.toString("base64url")],
  ])("reads base64 with %s", (_, text) => {
    expect(everyWay(`{"data":[{"b64_json":"${text}","seed":3}]}`).images).toEqual([png]);
  });

  it("takes no memory in advance for more images than it was told of", () => {
    const body = new ImageBody(1);
    const before = process.memoryUsage().arrayBuffers;
    body.push(Buffer.from(`{"data":[${Array(2000).fill('{"b64_json":"AAAA"}').join()}]}`));
    expect(body.images).toHaveLength(2000);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });

  it("is no JSON if it ends in an image", () => {
    const body = new ImageBody(1);
    body.push(Buffer.from(`{"data":[{"b64_json":"${base64}`));
    expect(() => JSON.parse(body.text())).toThrow(SyntaxError);
  });

  it("refuses escapes that are none", () => {
    const body = new ImageBody(1);
    expect(() => body.push(Buffer.from('{"b64_json":"abc\\q0000000"}'))).toThrow(LintelError);
  });
});

describe("base64 in pieces", () => {
  it("grows beyond what was expected", () => {
    const bytes = bytesOf(10_000);
    const decoder = new Base64Decoder(16);
    for (const part of cut(Buffer.from(bytes.toString("base64")), 777, 5)) decoder.push(part);
    expect(decoder.end()).toEqual(bytes);
  });
});
