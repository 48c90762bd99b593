/** PDF files, written byte by byte as ISO 32000 has them. */
import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

/** How a file is written. */
export interface PdfOptions {
  /** The dictionary of the one font, `/F1`, without its brackets. Default: Helvetica in WinAnsi. */
  readonly font?: string;
  /** What pages use besides the font, without brackets. Default: nothing. */
  readonly resources?: string;
  /** What pages have besides what they show, such as annotations. Default: nothing. */
  readonly entries?: string;
  /** Objects behind those of the pages: the first has the number `firstExtra`. */
  readonly extra?: readonly Body[];
  /** Entries of the catalog. */
  readonly catalog?: string;
  /** Entries of the trailer. */
  readonly trailer?: string;
  /** Whether streams are compressed. */
  readonly compressed?: boolean;
  /** Encrypts by RC4; whoever opens it needs this password, if it is not empty. */
  readonly password?: string;
}

/** What stands in an object. */
export type Body = string | Stream;

/** A stream, with what its dictionary has besides its length. */
export interface Stream {
  readonly dictionary: string;
  readonly bytes: Buffer;
}

const helvetica = "/Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding";

/** Number of the first of `extra`, in a file with so many pages. */
export const firstExtra = (pages: number) => 4 + 2 * pages;

/** A file of pages, each by its content stream. */
export function pdf(contents: readonly Body[], options: PdfOptions = {}): Buffer {
  const pageAt = (i: number) => 4 + 2 * i;
  const kids = contents.map((_, i) => `${pageAt(i)} 0 R`).join(" ");
  return pdfOf(
    [
      `<< /Type /Catalog /Pages 2 0 R ${options.catalog ?? ""} >>`,
      `<< /Type /Pages /Count ${contents.length} /Kids [${kids}] >>`,
      `<< ${options.font ?? helvetica} >>`,
      ...contents.flatMap((content, i): Body[] => [
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] " +
          `/Resources << /Font << /F1 3 0 R >> ${options.resources ?? ""} >> /Contents ${pageAt(i) + 1} 0 R ${options.entries ?? ""} >>`,
        typeof content === "string"
          ? { dictionary: "", bytes: Buffer.from(content, "latin1") }
          : content,
      ]),
      ...(options.extra ?? []),
    ],
    options,
  );
}

/** The content stream of a page with lines of text, from the top down. */
export const lines = (...texts: readonly string[]): string =>
  `BT /F1 12 Tf 14 TL 72 770 Td ${texts.map((text) => `${shown(text)} Tj T*`).join(" ")} ET`;

/** A string of WinAnsi bytes, as content streams have it. */
export const shown = (text: string): string =>
  `<${Buffer.from(text.replaceAll("–", "\u0096"), "latin1").toString("hex")}>`;

/** A file of objects, whose numbers are 1 and so on; the first is the catalog. */
function pdfOf(
  bodies: readonly Body[],
  {
    compressed,
    password,
    trailer = "",
  }: Pick<PdfOptions, "compressed" | "password" | "trailer"> = {},
): Buffer {
  const cipher = password === undefined ? undefined : new Encryption(password);
  const parts: Buffer[] = [];
  const starts: number[] = [];
  let length = 0;
  const write = (part: string | Buffer) => {
    const bytes = typeof part === "string" ? Buffer.from(part, "latin1") : part;
    parts.push(bytes);
    length += bytes.length;
  };
  write("%PDF-1.7\n");
  const all = cipher ? [...bodies, cipher.dictionary] : bodies;
  all.forEach((body, i) => {
    starts.push(length);
    write(`${i + 1} 0 obj\n`);
    if (typeof body === "string") write(body);
    else {
      const plain = compressed ? deflateSync(body.bytes) : body.bytes;
      const bytes = cipher ? cipher.encrypt(plain, i + 1) : plain;
      const filter = compressed ? "/Filter /FlateDecode " : "";
      write(`<< ${body.dictionary} ${filter}/Length ${bytes.length} >>\nstream\n`);
      write(bytes);
      write("\nendstream");
    }
    write("\nendobj\n");
  });
  const table = length;
  const entries = starts.map((start) => `${String(start).padStart(10, "0")} 00000 n \n`).join("");
  write(`xref\n0 ${all.length + 1}\n0000000000 65535 f \n${entries}`);
  const encrypt = cipher ? ` /Encrypt ${all.length} 0 R /ID [<${cipher.id}> <${cipher.id}>]` : "";
  write(`trailer\n<< /Size ${all.length + 1} /Root 1 0 R${encrypt} ${trailer} >>\n`);
  write(`startxref\n${table}\n%%EOF\n`);
  return Buffer.concat(parts);
}

/** What passwords are filled up with, to 32 bytes. */
const padding = Buffer.from(
  "28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a",
  "hex",
);

/** The standard security handler, revision 2: RC4 with 40 bits. */
class Encryption {
  readonly id = "00112233445566778899aabbccddeeff";
  readonly #key: Buffer;
  readonly dictionary: string;

  constructor(password: string) {
    const padded = Buffer.concat([Buffer.from(password, "latin1"), padding]).subarray(0, 32);
    const owner = rc4(md5(padded).subarray(0, 5), padded);
    const permissions = Buffer.from("fcffffff", "hex");
    this.#key = md5(padded, owner, permissions, Buffer.from(this.id, "hex")).subarray(0, 5);
    const user = rc4(this.#key, padding);
    this.dictionary =
      `<< /Filter /Standard /V 1 /R 2 /P ${permissions.readInt32LE()} ` +
      `/O <${owner.toString("hex")}> /U <${user.toString("hex")}> >>`;
  }

  /** Bytes of the object with this number. */
  encrypt(bytes: Buffer, object: number): Buffer {
    const own = Buffer.from([object & 255, object >> 8, 0, 0, 0]);
    return rc4(md5(this.#key, own).subarray(0, 10), bytes);
  }
}

const md5 = (...parts: readonly Buffer[]): Buffer =>
  createHash("md5").update(Buffer.concat(parts)).digest();

/** OpenSSL has it only among what it calls legacy. */
function rc4(key: Buffer, bytes: Buffer): Buffer {
  const s = Uint8Array.from({ length: 256 }, (_, i) => i);
  const swap = (a: number, b: number) => {
    [s[a], s[b]] = [s[b] as number, s[a] as number];
  };
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + (s[i] as number) + (key[i % key.length] as number)) & 255;
    swap(i, j);
  }
  let i = 0;
  let j = 0;
  return Buffer.from(
    bytes.map((byte) => {
      i = (i + 1) & 255;
      j = (j + (s[i] as number)) & 255;
      swap(i, j);
      return byte ^ (s[((s[i] as number) + (s[j] as number)) & 255] as number);
    }),
  );
}

/** A page that shows a form ten times, which shows another one ten times, and so on: nobody sees its end. */
export const endless = (): Buffer => {
  const depth = 12;
  const first = firstExtra(1);
  const extra = Array.from({ length: depth }, (_, i): Stream => {
    const last = i === depth - 1;
    const inner = last ? "/Font << /F1 3 0 R >>" : `/XObject << /X ${first + i + 1} 0 R >>`;
    return {
      dictionary: `/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << ${inner} >>`,
      bytes: Buffer.from(last ? lines("again") : "/X Do ".repeat(10)),
    };
  });
  return pdf(["/X Do"], { resources: `/XObject << /X ${first} 0 R >>`, extra });
};
