"""The noise of src/backends/onnx/noise.ts in numpy: Philox4x32-10, Box and Muller."""
import numpy as np

MASK = np.uint64(0xFFFFFFFF)


def philox(c0, c2, key):
    c = [np.full(c2.shape, c0, np.uint64), np.zeros(c2.shape, np.uint64), c2.astype(np.uint64),
         np.zeros(c2.shape, np.uint64)]
    k0, k1 = np.uint64(key), np.uint64(0)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ k0, b & MASK, (a >> np.uint64(32)) ^ c[3] ^ k1, a & MASK]
        k0 = (k0 + np.uint64(0x9E3779B9)) & MASK
        k1 = (k1 + np.uint64(0xBB67AE85)) & MASK
    return c


class Noise:
    """Each call is a new draw of float32 [shape]."""

    def __init__(self, seed):
        self.seed, self.draws = seed, 0

    def __call__(self, shape):
        c = philox(self.draws, np.arange(int(np.prod(shape))), self.seed)
        self.draws += 1
        u, v = (c[i].astype(np.float64) + 0.5 for i in (0, 1))
        z = np.sqrt(-2 * np.log(u * 2.0 ** -32)) * np.sin(2 * np.pi * v * 2.0 ** -32)
        return z.astype(np.float32).reshape(shape)
