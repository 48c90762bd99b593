/**
 * Readies pictures for models that look at them. Resizes bit for bit as Pillow does,
 * which such models were trained with: bicubic or bilinear, widened where it shrinks,
 * 8 bits between the two passes.
 */

/** 8-bit RGB, rows from the top. */
export interface Picture {
  readonly rgb: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** How pixels between pixels are made. */
export type Filter = "bicubic" | "bilinear";

/** Resizes to a size in pixels. */
export function resize(
  picture: Picture,
  width: number,
  height: number,
  filter: Filter = "bicubic",
): Picture {
  const wide = width === picture.width ? picture : across(picture, width, filter);
  if (height === picture.height) return wide;
  return turn(across(turn(wide), height, filter));
}

/** Resizes so that the shorter side has so many pixels; the other keeps its share, rounded down. */
export function shortestEdge(picture: Picture, edge: number, filter?: Filter): Picture {
  const { width, height } = picture;
  const long = Math.trunc((edge * Math.max(width, height)) / Math.min(width, height));
  return width <= height
    ? resize(picture, edge, long, filter)
    : resize(picture, long, edge, filter);
}

/** Cuts out the middle; where the picture is smaller, black stands around it. */
export function centre(
  { rgb, width, height }: Picture,
  side: { readonly width: number; readonly height: number },
): Picture {
  const out = new Uint8ClampedArray(side.width * side.height * 3);
  const left = Math.floor((width - side.width) / 2);
  const top = Math.floor((height - side.height) / 2);
  const [x, columns] = [Math.max(-left, 0), Math.min(width, side.width)];
  for (let y = Math.max(-top, 0); y < Math.min(height - top, side.height); y++) {
    const from = ((top + y) * width + Math.max(left, 0)) * 3;
    out.set(rgb.subarray(from, from + columns * 3), (y * side.width + x) * 3);
  }
  return { rgb: out, ...side };
}

/** How samples become what a model was trained on. */
export interface Normalization {
  /** What samples, 0 to 255, are multiplied by. */
  readonly scale: number;
  /** Of red, green and blue, once scaled: what is taken away. */
  readonly mean: readonly number[];
  /** Of red, green and blue, after that: what is divided by. */
  readonly deviation: readonly number[];
}

/** The samples as three planes, one after the other, normalized. */
export function planes(
  { rgb, width, height }: Picture,
  { scale, mean, deviation }: Normalization,
): Float32Array {
  const area = width * height;
  const out = new Float32Array(3 * area);
  for (let c = 0; c < 3; c++) {
    for (let i = 0; i < area; i++) {
      const value = (rgb[i * 3 + c] as number) * scale;
      out[c * area + i] = (value - (mean[c] as number)) / (deviation[c] as number);
    }
  }
  return out;
}

/** Fixed-point weights have this many bits behind the point. */
const precision = 22;

function across({ rgb, width, height }: Picture, to: number, filter: Filter): Picture {
  const out = new Uint8ClampedArray(to * height * 3);
  const taps = Array.from({ length: to }, (_, x) => tapsAt(x, width / to, width, filters[filter]));
  for (let y = 0; y < height; y++) {
    for (const [x, { first, weights }] of taps.entries()) {
      let red = 0;
      let green = 0;
      let blue = 0;
      let from = (y * width + first) * 3;
      for (const weight of weights) {
        red += weight * (rgb[from] as number);
        green += weight * (rgb[from + 1] as number);
        blue += weight * (rgb[from + 2] as number);
        from += 3;
      }
      const at = (y * to + x) * 3;
      out[at] = rounded(red);
      out[at + 1] = rounded(green);
      out[at + 2] = rounded(blue);
    }
  }
  return { rgb: out, width: to, height };
}

const rounded = (sum: number) => Math.floor((sum + 2 ** (precision - 1)) / 2 ** precision);

/** Which pixels one pixel is made of, and how much of each. */
function tapsAt(x: number, scale: number, width: number, { support, weight: at }: Kernel) {
  const stretch = Math.max(scale, 1);
  const reach = support * stretch;
  const middle = (x + 0.5) * scale;
  const first = Math.max(Math.trunc(middle - reach + 0.5), 0);
  const last = Math.min(Math.trunc(middle + reach + 0.5), width);
  const raw = Array.from({ length: last - first }, (_, i) =>
    at((i + first - middle + 0.5) / stretch),
  );
  const sum = raw.reduce((total, weight) => total + weight, 0);
  const weights = raw.map((weight) => {
    const fixed = (weight / sum) * 2 ** precision;
    return Math.trunc(fixed < 0 ? fixed - 0.5 : fixed + 0.5);
  });
  return { first, weights };
}

/** The weight of a pixel by its distance, and the distance from which there is none. */
interface Kernel {
  readonly support: number;
  readonly weight: (distance: number) => number;
}

const filters: Readonly<Record<Filter, Kernel>> = {
  bicubic: { support: 2, weight: cubic },
  bilinear: { support: 1, weight: (at) => Math.max(0, 1 - Math.abs(at)) },
};

/** Keys' cubic with a = -0.5. */
function cubic(at: number): number {
  const x = Math.abs(at);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return 0;
}

/** Rows become columns. */
function turn({ rgb, width, height }: Picture): Picture {
  const out = new Uint8ClampedArray(rgb.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * width + x) * 3;
      const to = (x * height + y) * 3;
      for (let c = 0; c < 3; c++) out[to + c] = rgb[from + c] as number;
    }
  }
  return { rgb: out, width: height, height: width };
}
