/** Base64: bytes as such, and whether what says that it is base64 is that: whoever decodes it passes over the rest, or fails. */

/** Bytes as base64, padded. Not copied before. */
export const toBase64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64");

/** A PNG as an address that holds it. */
export const pngUrl = (png: Uint8Array): string => `data:image/png;base64,${toBase64(png)}`;

/** So much is decoded at once; whole groups of four letters. */
const pieceLetters = 64 * 1024;
/** All pieces take turns in it: what they say is not looked at. */
const room = Buffer.allocUnsafeSlow((pieceLetters / 4) * 3);

/**
 * Whether a text is base64 as servers take it: of either alphabet, perhaps in lines, and perhaps without
 * padding. To count what Node's decoder makes of it is faster than to look at each letter: a fifth of a
 * second for a picture of 15 MB would hold up all other calls.
 */
export function isBase64(text: string): boolean {
  let end = text.length;
  while (text.charCodeAt(end - 1) === padding) end--;
  if (end === 0 || end % 4 === 1) return isLoose(text);
  for (let at = 0; at < end; at += pieceLetters) {
    const piece = text.slice(at, Math.min(at + pieceLetters, end));
    // It passes over what does not belong there.
    if (room.write(piece, "base64") !== Math.floor(piece.length * 0.75)) return isLoose(text);
  }
  return true;
}

const padding = 0x3d;

/** The same of one that may have blanks and line breaks in it, letter by letter: without them it would be copied. */
function isLoose(text: string): boolean {
  let letters = 0;
  let padded = false;
  for (let at = 0; at < text.length; at++) {
    const kind = kinds[text.charCodeAt(at)];
    if (kind === isLetter && !padded) letters++;
    else if (kind === isPadding) padded = true;
    else if (kind !== isBlank) return false;
  }
  // One letter alone is less than a byte.
  return letters > 0 && letters % 4 !== 1;
}

const [isLetter, isPadding, isBlank] = [1, 2, 3];
/** By the codes of characters. */
const kinds = Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code);
  if (/[\w+/-]/.test(letter)) return isLetter;
  return letter === "=" ? isPadding : /\s/.test(letter) ? isBlank : 0;
});
