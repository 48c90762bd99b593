/** Pictures as large as models look at them. */

/** Pixels of the longer side, above which models make pictures smaller themselves. */
const longest = 1568;
/** Bytes that a picture may have without being touched. */
const small = 300_000;
/** Bytes of which a call can have one by default, in base64, with a conversation around it. */
const large = 600_000;

/** The picture itself, or one that is made of it, without what it tells of the place and the camera. */
export async function smaller(picture: Blob): Promise<Blob> {
  if (picture.size <= small) return picture;
  try {
    const bitmap = await createImageBitmap(picture);
    const scale = Math.min(1, longest / Math.max(bitmap.width, bitmap.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(bitmap.width * scale));
    canvas.height = Math.max(1, Math.round(bitmap.height * scale));
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    // JPEG knows nothing that can be seen through.
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    for (const quality of [0.85, 0.6, 0.4, 0.2]) {
      const made = await new Promise<Blob | null>((resolve) =>
        canvas.toBlob(resolve, "image/jpeg", quality),
      );
      if (made && made.size <= large) return made.size < picture.size ? made : picture;
    }
    return picture;
  } catch {
    // What the browser can't read the model may.
    return picture;
  }
}
