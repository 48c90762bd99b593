/** Files of several certificates, which OpenSSL reads up to the first that it can't. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { certificateEnds, certificatesIn, readCertificates } from "../../src/certificates.js";
import { pem, pemFile } from "../support/tls-front.js";

/** What is wrong with a text in place of a file, without the file's name. */
function wrong(part: "ca" | "cert", text: string | Buffer, key?: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), "lintel-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "a.pem");
  writeFileSync(file, text);
  const { problems } = readCertificates({ [part]: file, key: key && pemFile(key) });
  return problems.map(({ message }) => message.replaceAll(file, "FILE"));
}

const [one, other] = [pem("cert"), pem("renewed-cert")];
const lines = one.trimEnd().split("\n").length;
const mark = "\uFEFF";

test.each([
  ["one behind the other", one + other],
  ["with words between them", `Bag Attributes\nsubject=CN = a\n${one}\n\nsubject=CN = b\n${other}`],
  ["with lines of Windows, and its mark", mark + (one + other).replaceAll("\n", "\r\n")],
  ["with the key in front", pem("key") + one + other],
])("certificates %s count all", (_, text) => {
  expect([...wrong("ca", text), ...wrong("cert", text)]).toEqual([]);
  expect(certificatesIn(text)).toHaveLength(2);
});

test("one that was made a comment of does not count", () => {
  const text = one + other.replace(/^/gm, "# ");
  expect(wrong("ca", text)).toEqual([]);
  expect(certificatesIn(text)).toHaveLength(1);
});

test.each([
  ["is broken", one + other.replace(/\n..../, "\n!!!!"), lines + 1],
  ["breaks off", one + other.slice(0, 300), lines + 1],
  ["has another's end in its line", one + one.trimEnd() + other, lines + 1],
  ["has a mark before it", mark + one + mark + other, lines + 1],
  ["has blanks before it", one + other.replace(/^/gm, "  "), lines + 1],
  ["is the first of them", one.replace(/\n..../, "\n!!!!") + other, 1],
])("a certificate that %s is told with its line", (_, text, line) => {
  const expected = [`the file FILE has a certificate that can't be read at line ${line}`];
  expect(wrong("ca", text)).toEqual(expected);
  expect(wrong("cert", text)).toEqual(expected);
  expect(certificateEnds({ a: text })).toEqual([]);
});

test("a certificate that is not in PEM is none, for authorities too", () => {
  const [block] = certificatesIn(one);
  expect(wrong("ca", block?.raw ?? "")).toEqual(["the file FILE holds no certificate in PEM"]);
});

test("a key is that of the first certificate of a chain", () => {
  expect(wrong("cert", one + other, "key")).toEqual([]);
  expect(wrong("cert", other + one, "key")).toEqual([
    `the key in ${pemFile("key")} is that of a certificate which does not stand first in FILE`,
  ]);
});
