import { describe, expect, test } from "vitest";
import { centre, resize, shortestEdge } from "../../src/media/pictures.js";

/** By Pillow 13.0: `Image.fromarray((np.arange(105) * 37 % 256).astype(np.uint8).reshape(5, 7, 3)).resize(…, Image.BILINEAR)`. */
const pillow: Readonly<Record<string, readonly number[]>> = {
  "3x2": [104, 86, 123, 146, 123, 100, 123, 160, 142, 105, 104, 141, 145, 122, 118, 141, 161, 131],
  "10x8": [
    0, 37, 74, 61, 98, 135, 139, 112, 149, 216, 10, 47, 128, 75, 112, 116, 153, 100, 181, 218, 12,
    79, 116, 89, 93, 130, 167, 154, 191, 228, 4, 41, 78, 65, 102, 139, 143, 116, 153, 220, 14, 51,
    132, 79, 116, 120, 157, 104, 185, 222, 16, 83, 120, 93, 97, 134, 171, 158, 195, 232, 10, 47, 84,
    71, 108, 145, 149, 122, 159, 226, 20, 57, 138, 85, 122, 126, 163, 110, 191, 228, 22, 89, 126,
    99, 103, 140, 177, 164, 201, 238, 15, 52, 89, 76, 113, 150, 154, 127, 164, 231, 25, 62, 143, 90,
    127, 131, 168, 115, 196, 233, 27, 94, 131, 104, 108, 145, 182, 169, 206, 243, 21, 58, 95, 82,
    119, 156, 160, 133, 170, 237, 31, 68, 149, 96, 133, 137, 174, 121, 202, 239, 33, 100, 137, 110,
    114, 151, 188, 175, 212, 249, 26, 63, 100, 87, 124, 161, 165, 138, 175, 242, 36, 73, 154, 101,
    138, 142, 179, 126, 207, 244, 38, 105, 142, 115, 119, 156, 193, 180, 217, 254, 32, 69, 106, 93,
    130, 167, 135, 144, 181, 111, 42, 79, 109, 107, 144, 148, 134, 132, 213, 113, 44, 111, 112, 121,
    125, 162, 134, 186, 223, 116, 36, 73, 110, 97, 134, 171, 111, 148, 185, 9, 46, 83, 74, 111, 148,
    152, 99, 136, 217, 11, 48, 115, 88, 125, 129, 166, 88, 190, 227, 8,
  ],
};

describe("bilinear, as Pillow does it", () => {
  test.each(Object.keys(pillow))("%s", (size) => {
    const [width = 0, height = 0] = size.split("x").map(Number);
    const rgb = Uint8ClampedArray.from({ length: 105 }, (_, i) => (i * 37) % 256);
    expect([...resize({ rgb, width: 7, height: 5 }, width, height, "bilinear").rgb]).toEqual(
      pillow[size],
    );
  });
});

/** By Pillow 13.0: `Image.frombytes("RGB", (5, 1), bytes(row)).resize((9, 1), Image.BICUBIC)`. */
test("bicubic, as Pillow does it, which rounds weights below 0 away from 0", () => {
  const row = [243, 210, 128, 8, 29, 250, 233, 206, 19, 132, 207, 28, 175, 78, 218];
  const rgb = Uint8ClampedArray.from(row);
  expect([...resize({ rgb, width: 5, height: 1 }, 9, 1, "bicubic").rgb]).toEqual([
    255, 225, 118, 170, 154, 170, 16, 35, 251, 94, 93, 158, 233, 206, 19, 185, 225, 0, 131, 197, 43,
    160, 114, 166, 179, 67, 233,
  ]);
});

test.each([
  [30, 47, 20, 31],
  [47, 30, 31, 20],
  [9, 9, 20, 20],
])(
  "the shorter side of %i by %i has a length, the other its share, rounded down",
  (width, height, ...size) => {
    const rgb = new Uint8ClampedArray(width * height * 3);
    const picture = shortestEdge({ rgb, width, height }, 20);
    expect([picture.width, picture.height]).toEqual(size);
  },
);

/** By transformers 4.57: `center_crop` of `(np.arange(36) * 7).astype(np.uint8).reshape(3, 4, 3)`. */
describe("the middle, as transformers cuts it out, also of a picture that is too small", () => {
  test.each([
    [
      "3x6",
      [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 14, 21, 28, 35, 42, 49, 56, 84,
        91, 98, 105, 112, 119, 126, 133, 140, 168, 175, 182, 189, 196, 203, 210, 217, 224, 0, 0, 0,
        0, 0, 0, 0, 0, 0,
      ],
    ],
    [
      "7x2",
      [
        0, 0, 0, 0, 0, 0, 0, 7, 14, 21, 28, 35, 42, 49, 56, 63, 70, 77, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        84, 91, 98, 105, 112, 119, 126, 133, 140, 147, 154, 161, 0, 0, 0,
      ],
    ],
  ])("%s", (size, expected) => {
    const [width = 0, height = 0] = size.split("x").map(Number);
    const rgb = Uint8ClampedArray.from({ length: 36 }, (_, i) => i * 7);
    expect([...centre({ rgb, width: 4, height: 3 }, { width, height }).rgb]).toEqual(expected);
  });
});
