/** IEEE 754 half precision, which Node 20 has no array for. */

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** Rounds to the nearest half, ties to even. */
export function toHalf(values: Float32Array, out = new Uint16Array(values.length)): Uint16Array {
  for (let i = 0; i < values.length; i++) {
    float[0] = values[i] as number;
    const x = bits[0] as number;
    const sign = (x >>> 16) & 0x8000;
    const exponent = ((x >>> 23) & 0xff) - 112;
    const fraction = x & 0x7fffff;
    if (exponent >= 31) {
      const isNotNumber = exponent === 143 && fraction !== 0;
      out[i] = sign | 0x7c00 | (isNotNumber ? 0x200 : 0);
    } else {
      // Below the smallest normal half the leading one becomes part of the fraction.
      const shift = exponent > 0 ? 13 : Math.min(14 - exponent, 31);
      const whole = exponent > 0 ? (exponent << 23) | fraction : 0x800000 | fraction;
      const half = whole >>> shift;
      const rest = whole & (2 ** shift - 1);
      const tie = 2 ** (shift - 1);
      const up = rest > tie || (rest === tie && (half & 1) === 1);
      out[i] = sign | (half + (up ? 1 : 0)); // A carry into the exponent is right, up to infinity.
    }
  }
  return out;
}

let table: Float32Array | undefined;

/** Every half is a float. */
export function fromHalf(halves: Uint16Array): Float32Array {
  table ??= Float32Array.from({ length: 65536 }, (_, half) => valueOfHalf(half));
  const out = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) out[i] = table[halves[i] as number] as number;
  return out;
}

function valueOfHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
