/**
 * Letters of other scripts that look as Latin ones do. They count as these in a word that has Latin letters,
 * too: nobody writes such a word but to pass by, and a word of Russian or Greek stays what it is.
 */

/** By what they look like; only those that fonts draw alike. */
const alike: Readonly<Record<string, string>> = {
  a: "\u0430\u0251",
  c: "\u0441\u03f2",
  d: "\u0501",
  e: "\u0435",
  g: "\u0261",
  h: "\u04bb",
  i: "\u0456",
  j: "\u0458\u03f3",
  l: "\u04cf",
  o: "\u043e\u03bf",
  p: "\u0440\u03c1",
  q: "\u051b",
  s: "\u0455",
  v: "\u03bd",
  w: "\u051d",
  x: "\u0445",
  y: "\u0443\u04af",
  A: "\u0410\u0391",
  B: "\u0412\u0392",
  C: "\u0421\u03f9",
  E: "\u0415\u0395",
  H: "\u041d\u0397",
  I: "\u0406\u0399\u04c0",
  J: "\u0408\u037f",
  K: "\u041a\u039a",
  M: "\u041c\u039c",
  N: "\u039d",
  O: "\u041e\u039f",
  P: "\u0420\u03a1",
  Q: "\u051a",
  S: "\u0405",
  T: "\u0422\u03a4",
  W: "\u051c",
  X: "\u0425\u03a7",
  Y: "\u0423\u04ae\u03a5",
  Z: "\u0396",
};

const latin: ReadonlyMap<string, string> = new Map(
  Object.entries(alike).flatMap(([letter, others]) => [...others].map((it) => [it, letter])),
);

const others = [...latin.keys()].join("");
const any = new RegExp(`[${others}]`);
/** Where a word of both begins or goes on: of most texts that is all that is looked for. */
const mixed = new RegExp(`[A-Za-z][${others}]|[${others}][A-Za-z]`);
/** A word, or a part of one that is very long: of a row of millions V8 would keep each letter on a stack. */
const words = new RegExp(`[A-Za-z${others}]{2,1000}`, "g");
const atEnd = new RegExp(`[A-Za-z${others}]{1,64}$`);

/** A text of the same length with Latin letters for those that look alike; the text itself where there are none. */
export function withoutLookalikes(text: string): string {
  if (!mixed.test(text)) return text;
  return text.replace(words, (word) => (mixed.test(word) ? inLatin(word) : word));
}

const inLatin = (word: string): string =>
  Array.from(word, (letter) => latin.get(letter) ?? letter).join("");

/**
 * Where a word with such letters begins that may go on behind the end of a text; its length: nowhere. What they stand for
 * is not known before the word has ended.
 */
export function openWord(text: string): number {
  const word = atEnd.exec(text.slice(-64));
  return word && any.test(word[0]) ? text.length - word[0].length : text.length;
}
