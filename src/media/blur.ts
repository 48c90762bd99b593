/** Makes a picture unrecognisable. */
import { PNG } from "pngjs";
import { decodePng } from "./decode.js";

/** Cells along the longer side of what is left of a picture: colours and light, no shapes. */
const cells = 10;

/**
 * The picture in the same size, as a soft blur of at most 10 by 10 means of its
 * colours. What is taken away is gone: unlike a blur by a kernel, no computation
 * brings it back.
 * @param data PNG bytes that were sanitized
 * @throws Error if they can't be decoded
 */
export async function blurPng(data: Uint8Array): Promise<Uint8Array> {
  const picture = decodePng(data);
  const { width, height } = picture;
  const cell = Math.ceil(Math.max(width, height) / cells);
  const blurred = new PNG({ width, height, colorType: 2, inputHasAlpha: true });
  spread(means(picture, cell), cell, blurred);
  return encode(blurred);
}

/** The means of the picture's cells. */
interface Means {
  readonly columns: number;
  readonly rows: number;
  /** Red, green and blue of each cell, row by row. */
  readonly colours: Float64Array;
}

function means({ width, height, data }: PNG, cell: number): Means {
  const columns = Math.ceil(width / cell);
  const rows = Math.ceil(height / cell);
  const colours = new Float64Array(columns * rows * 3);
  const counts = new Uint32Array(columns * rows);
  for (let y = 0, at = 0; y < height; y++) {
    const row = Math.floor(y / cell) * columns;
    for (let x = 0; x < width; x++, at += 4) {
      const to = row + Math.floor(x / cell);
      counts[to] = (counts[to] as number) + 1;
      for (let c = 0; c < 3; c++) {
        colours[to * 3 + c] = (colours[to * 3 + c] as number) + (data[at + c] as number);
      }
    }
  }
  for (let i = 0; i < colours.length; i++) {
    colours[i] = (colours[i] as number) / (counts[Math.floor(i / 3)] as number);
  }
  return { columns, rows, colours };
}

/** Paints the means over the whole picture, each running into its neighbours. */
function spread({ columns, rows, colours }: Means, cell: number, to: PNG): void {
  const across = Array.from({ length: to.width }, (_, x) => between(x, cell, columns));
  for (let y = 0, at = 0; y < to.height; y++) {
    const down = between(y, cell, rows);
    for (let x = 0; x < to.width; x++, at += 4) {
      const [left, right, dx] = across[x] as Between;
      for (let c = 0; c < 3; c++) {
        const colour = (row: number, column: number) =>
          colours[(row * columns + column) * 3 + c] as number;
        const top = colour(down[0], left) * (1 - dx) + colour(down[0], right) * dx;
        const bottom = colour(down[1], left) * (1 - dx) + colour(down[1], right) * dx;
        to.data[at + c] = Math.round(top * (1 - down[2]) + bottom * down[2]);
      }
      to.data[at + 3] = 255;
    }
  }
}

/** Two neighbouring cells, and how far from the first to the second. */
type Between = readonly [number, number, number];

function between(pixel: number, cell: number, count: number): Between {
  const place = Math.max((pixel + 0.5) / cell - 0.5, 0);
  const first = Math.floor(place);
  return [first, Math.min(first + 1, count - 1), place - first];
}

function encode(png: PNG): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    png.on("data", (part) => parts.push(part));
    png.on("end", () => resolve(Buffer.concat(parts)));
    png.on("error", reject);
    png.pack();
  });
}
