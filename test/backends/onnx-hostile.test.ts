/** Files of image models that were made to do harm: they are refused, with their names, and take nothing. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readOnnx } from "../../src/backends/onnx/file/onnx.js";
import { bytesField, bytesHeader, numberField } from "../../src/backends/onnx/file/protobuf.js";
import { Safetensors } from "../../src/backends/onnx/lora/safetensors.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
  await mkdir(join(folder, "unet"));
  await writeFile(join(folder, "unet/data"), Buffer.alloc(100));
});
afterAll(() => rm(folder, { recursive: true }));

const name = "unet/model.onnx";

/** What is read of a graph of these fields. */
async function read(...fields: Uint8Array[]) {
  await writeFile(join(folder, name), bytesField(7, ...fields));
  return readOnnx(folder, name);
}

/** A packed list of numbers below 128. */
const list = (field: number, length: number) => bytesField(field, Buffer.alloc(length, 2));

const entry = (key: string, value: string) =>
  bytesField(13, bytesField(1, key), bytesField(2, value));
const tensor = (place: Record<string, string>) => [
  ...[numberField(1, 2), numberField(2, 1), bytesField(8, "w")],
  ...Object.entries(place).map(([key, value]) => entry(key, value)),
];
const weight = (place: Record<string, string>) => bytesField(5, ...tensor(place));
const constant = (place: Record<string, string>) =>
  bytesField(1, bytesField(5, bytesField(1, "value"), bytesField(5, ...tensor(place))));

describe("an ONNX file", () => {
  it("whose field leads back to where it begins is none", async () => {
    // The length is -11, in the ten bytes of a negative number.
    const back = [0x3a, 0xf5, ...Array.from({ length: 8 }, () => 0xff), 0x01, 0, 0, 0, 0];
    await writeFile(join(folder, name), Buffer.from(back));
    expect(() => readOnnx(folder, name)).toThrow(/^unet\/model.onnx: is not an ONNX file$/);
  });

  it("whose field is longer than the file is cut short", async () => {
    await writeFile(join(folder, name), bytesHeader(7, 2 ** 40));
    expect(() => readOnnx(folder, name)).toThrow(/^unet\/model.onnx: is cut short: it has 7 of/);
  });

  it("may have lists of any length", async () => {
    const many = 300_000;
    const attribute = bytesField(5, bytesField(1, "axes"), list(8, many));
    const { nodes, initializers } = await read(
      bytesField(1, attribute),
      bytesField(5, list(1, many)),
    );
    expect(nodes[0]?.attributes.get("axes")?.values).toHaveLength(many);
    expect(initializers[0]?.dims).toHaveLength(many);
  });

  it.each<Record<string, string>>([
    { location: "../secret" },
    { location: "a/../../secret" },
    { location: "data", offset: "-8", length: "8" },
    { location: "data", offset: "-1e15", length: "1e15" },
    { location: "data", offset: "8", length: "-8" },
    { location: "data", offset: "0.5", length: "8" },
    { location: "data", offset: "eight" },
    { location: "data", offset: "1e300", length: "8" },
  ])("has no weights at %j", async (place) => {
    const message = /^unet\/model.onnx: has weights where none can be: /;
    await expect(read(weight(place))).rejects.toThrow(message);
    await expect(read(constant(place))).rejects.toThrow(message);
  });

  it("has weights, and constants, in files beside it", async () => {
    const place = { location: "data", offset: "8", length: "8" };
    const { initializers, nodes } = await read(weight(place), constant(place));
    expect(initializers[0]?.data).toEqual({ file: "data", at: { start: 8, end: 16 } });
    expect(nodes).toHaveLength(1);
    const beyond = { ...place, length: "800" };
    for (const field of [weight(beyond), constant(beyond)]) {
      await expect(read(field)).rejects.toThrow(/^unet\/data: is cut short: it has 100 of at/);
    }
  });
});

it("a safetensors file has each of its bytes in one tensor", async () => {
  const path = join(folder, "lora.safetensors");
  const open = async (places: readonly (readonly [number, number])[]) => {
    const tensors = places.map((at, i) => [i, { dtype: "F32", shape: [2], data_offsets: at }]);
    const header = Buffer.from(JSON.stringify(Object.fromEntries(tensors)));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    await writeFile(path, Buffer.concat([length, header, Buffer.alloc(16)]));
    const file = await Safetensors.open(path, "loras/it");
    await file.close();
    return file.names;
  };
  expect(
    await open([
      [0, 8],
      [8, 16],
    ]),
  ).toHaveLength(2);
  await expect(
    open([
      [0, 8],
      [0, 8],
    ]),
  ).rejects.toThrow("loras/it: its tensors overlap");
  await expect(
    open([
      [0, 16],
      [8, 16],
    ]),
  ).rejects.toThrow("loras/it: its tensors overlap");
  const many = Array.from({ length: 200_000 }, () => [0, 0] as const);
  expect(await open(many)).toHaveLength(200_000);
});
