/** What a PNG file begins with. Apart from all else, since threads of engines load it. */
export const pngSignature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
