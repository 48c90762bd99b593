/** Numbers of weights, and the files that have them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readOnnx } from "../../src/backends/onnx/file/onnx.js";
import { bytesField, bytesHeader, numberField } from "../../src/backends/onnx/file/protobuf.js";
import { fromHalf, toHalf } from "../../src/backends/onnx/float16.js";
import { Safetensors } from "../../src/backends/onnx/lora/safetensors.js";
import { writeSafetensors } from "./onnx/lora-file.js";

describe("half precision", () => {
  const halves = Uint16Array.from({ length: 65536 }, (_, i) => i);
  const floats = fromHalf(halves);

  it("reads every half, and writes it back", () => {
    expect([
      floats[0x3c00],
      floats[0xc000],
      floats[0x0001],
      floats[0x7bff],
      floats[0x7c00],
    ]).toEqual([1, -2, 2 ** -24, 65504, Number.POSITIVE_INFINITY]);
    const back = toHalf(floats);
    const wrong = [...halves].filter((half) =>
      Number.isNaN(floats[half]) ? (back[half] ?? 0) % 0x8000 <= 0x7c00 : back[half] !== half,
    );
    expect(wrong).toEqual([]);
  });

  it("rounds to the nearest, ties to even", () => {
    const wrong: number[] = [];
    for (let half = 0; half < 0x7bff; half++) {
      const [low = 0, up = 0] = [floats[half], floats[half + 1]];
      const middle = (low + up) / 2;
      const just = (up - low) / 16;
      const got = toHalf(Float32Array.of(middle - just, middle, middle + just, -middle));
      const even = half % 2 === 0 ? half : half + 1;
      const want = [half, even, half + 1, even | 0x8000];
      if (want.some((value, i) => got[i] !== value)) wrong.push(half);
    }
    expect(wrong).toEqual([]);
    expect([...toHalf(Float32Array.of(65519.9, 65520, 1e30, 2 ** -26))]).toEqual([
      0x7bff, 0x7c00, 0x7c00, 0,
    ]);
  });
});

describe("files of weights", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "lintel-parts-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each(["F64", "F32", "F16", "BF16", "I64", "I32"] as const)(
    "have numbers of type %s",
    async (dtype) => {
      const data = [1, -2, 0, 96, -3, 250];
      const path = join(folder, `${dtype}.safetensors`);
      // The first one is there to be skipped.
      await writeSafetensors(path, {
        before: { shape: [3], dtype, data: [7, 7, 7] },
        a: { shape: [2, 3], dtype, data },
      });
      const file = await Safetensors.open(path, "a");
      const { shape, data: read } = await file.read("a");
      await file.close();
      expect([shape, [...read]]).toEqual([[2, 3], data]);
    },
  );

  it("are refused where a tensor has more or fewer numbers than its shape", async () => {
    const path = join(folder, "shapes.safetensors");
    const data = [1, 2, 3, 4, 5, 6];
    await writeSafetensors(path, { more: { shape: [5], data }, fewer: { shape: [7], data } });
    const file = await Safetensors.open(path, "a");
    for (const name of ["more", "fewer", "none"]) {
      const type = name === "none" ? "none" : "F32";
      await expect(file.read(name)).rejects.toThrow(`a: ${name}: can't be read as ${type}`);
    }
    await file.close();
  });

  /** An ONNX file whose graph has one weight. */
  const onnxOf = (...tensor: Buffer[]) =>
    bytesField(7, bytesField(5, ...tensor), bytesField(2, "graph"));
  const node = bytesField(1, bytesField(1, "in"), bytesField(2, "out"), bytesField(4, "Gemm"));
  const [type, name] = [numberField(2, 16), bytesField(8, "w".repeat(70_000))];
  const raw = bytesField(9, Buffer.alloc(768));
  const packed = bytesField(1, Buffer.from([0x80, 1, 3]));
  const single = Buffer.concat([numberField(1, 128), numberField(1, 3)]);
  // Fields of later versions: eight bytes, four bytes, a number.
  const unknown = [
    Buffer.from([0x71, 1, 2, 3, 4, 5, 6, 7, 8]),
    Buffer.from([0x75, 1, 2, 3, 4]),
    numberField(14, 300),
  ];

  it.each([
    ["one by one", [single, type, name, raw]],
    ["together, beside what is not known", [...unknown, packed, type, ...unknown, name, raw]],
  ])("have the sizes of a weight %s", async (_, tensor) => {
    const bytes = bytesField(7, node, bytesField(5, ...tensor), bytesField(2, "graph"));
    await writeFile(join(folder, "a.onnx"), bytes);
    const read = readOnnx(folder, "a.onnx");
    const [weight] = read.initializers;
    expect(weight).toMatchObject({ name: "w".repeat(70_000), type: 16, dims: [128, 3] });
    expect(read.nodes).toMatchObject([{ op: "Gemm", inputs: ["in"], outputs: ["out"] }]);
    expect(weight?.data?.at).toEqual({ start: bytes.length - 7 - 768, end: bytes.length - 7 });
    expect([read.bytes, read.singleBytes]).toEqual([768, 1536]);
  });

  it.each([
    ["a group", onnxOf(Buffer.from([0x0b])), "is not an ONNX file"],
    ["a field without a number", onnxOf(Buffer.from([0x02])), "is not an ONNX file"],
    ["a number without an end", onnxOf(Buffer.alloc(11, 0xff)), "is not an ONNX file"],
    ["a field beyond its message", onnxOf(bytesHeader(8, 50)), "is not an ONNX file"],
    ["no graph", bytesField(2, "somebody"), "is not an ONNX file"],
    ["nothing", Buffer.alloc(0), "is empty"],
    ["half a number", bytesHeader(7, 300).subarray(0, 2), "is cut short: it has 2 of at least 3"],
    ["a part", onnxOf(raw).subarray(0, 9), "is cut short: it has 9 of at least 784"],
  ])("are refused with %s", async (_, bytes, why) => {
    await writeFile(join(folder, "b.onnx"), bytes);
    expect(() => readOnnx(folder, "b.onnx")).toThrow(`b.onnx: ${why}`);
  });
});
