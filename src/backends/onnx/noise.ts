/**
 * Gaussian noise that depends on a seed and nothing else.
 *
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * 2011) with the seed as key, turned into normal numbers by Box and Muller in
 * float64. Counter and transform are laid out as in PyTorch's CUDA generator,
 * so that number i of the first draw is, to float precision, number i of
 * `torch.randn` on such a device with the same seed (for tensors that fit its
 * grid: a few hundred thousand numbers).
 */

/** Fills an array with independent normal numbers of mean 0 and variance 1. */
export type Noise = (out: Float32Array) => void;

const scale = 2 ** -32;

/**
 * A source of noise. Each call of it is a new draw.
 * @param seed 0 to 2^32-1
 */
export function noiseOf(seed: number): Noise {
  let draw = 0;
  const words = new Uint32Array(4);
  return (out) => {
    for (let i = 0; i < out.length; i++) {
      words[0] = draw;
      words[1] = 0;
      words[2] = i;
      words[3] = 0;
      philox(words, seed, 0);
      const radius = Math.sqrt(-2 * Math.log(((words[0] as number) + 0.5) * scale));
      out[i] = radius * Math.sin(2 * Math.PI * ((words[1] as number) + 0.5) * scale);
    }
    draw++;
  };
}

/** Ten rounds of Philox4x32, in place. */
export function philox(counter: Uint32Array, key0: number, key1: number): void {
  let a = counter[0] as number;
  let b = counter[1] as number;
  let c = counter[2] as number;
  let d = counter[3] as number;
  let k0 = key0;
  let k1 = key1;
  for (let round = 0; round < 10; round++) {
    const highA = high(0xd2511f53, a);
    const highC = high(0xcd9e8d57, c);
    const lowA = Math.imul(0xd2511f53, a);
    const lowC = Math.imul(0xcd9e8d57, c);
    a = highC ^ b ^ k0;
    b = lowC;
    c = highA ^ d ^ k1;
    d = lowA;
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  counter[0] = a;
  counter[1] = b;
  counter[2] = c;
  counter[3] = d;
}

/** Upper 32 bits of the product of two 32-bit numbers, both read as unsigned. */
function high(x: number, y: number): number {
  const x1 = x >>> 16;
  const x0 = x & 0xffff;
  const y1 = y >>> 16;
  const y0 = y & 0xffff;
  const low = x0 * y0;
  const middle = x1 * y0 + (low >>> 16);
  const carry = x0 * y1 + (middle & 0xffff);
  return x1 * y1 + (middle >>> 16) + (carry >>> 16);
}
