/** Reads how large a picture is. */

/** Width and height of a PNG, pixels. @param png begins as every PNG does: its signature, then IHDR */
export function pngSize(png: Uint8Array): { readonly width: number; readonly height: number } {
  const header = new DataView(png.buffer, png.byteOffset, png.byteLength);
  return { width: header.getUint32(16), height: header.getUint32(20) };
}
