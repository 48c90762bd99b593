/** Files in messages: what they are, and what those say that are text. */
import { isUtf8 } from "node:buffer";
import type { ContentPart, FileData } from "../../gen/lintel/v1/chat_pb.js";

/** A file that a request has in itself. */
export interface InlineFile {
  /** In lower case, such as `application/pdf`. */
  readonly mediaType: string;
  /** Of text the charset that the request names; empty: it names none. */
  readonly charset: string;
  /** In base64. */
  readonly data: string;
}

/** Type, parameters and encoding of a `data:` URL; its end is not looked at, which may be megabytes. */
const inline = /^data:([\w!#$&^.+-]+\/[\w!#$&^.+-]+)((?:;[^;,]*)*?);base64,/i;
/** Longest beginning of a `data:` URL up to its data. */
export const longestHead = 500;

/** The file itself; `undefined` where it is an address, or no `data:` URL in base64, or an empty one. */
export function inlineFile({ fileData }: FileData): InlineFile | undefined {
  const [head, mediaType, parameters = ""] = inline.exec(fileData.slice(0, longestHead)) ?? [];
  if (head === undefined || mediaType === undefined || head.length === fileData.length) {
    return undefined;
  }
  return {
    mediaType: mediaType.toLowerCase(),
    charset: /;\s*charset="?([^;"]*)/i.exec(parameters)?.[1] ?? "",
    data: fileData.slice(head.length),
  };
}

/** Whether bytes are a PDF: readers find its begin within the first 1024. */
export const beginsPdf = (bytes: Buffer): boolean => bytes.subarray(0, 1024).includes("%PDF-");

/** Characters of base64 that have so many bytes, also where its lines are short. */
const pdfHead = 2048;

/** Whether a file is a PDF: also one whose type says nothing, as model servers go by its name or its begin. */
export const isPdf = ({ mediaType, data }: InlineFile): boolean =>
  mediaType === "application/pdf" ||
  mediaType === "application/x-pdf" ||
  (!texts.test(mediaType) && beginsPdf(Buffer.from(data.slice(0, pdfHead), "base64")));

/** Types that are text to a model, though their names don't say so. */
const texts =
  /^(?:text\/|application\/(?:json|x-ndjson|jsonl|xml|yaml|x-yaml|toml|sql|graphql|javascript|x-javascript|typescript|x-typescript|x-sh|x-python|x-httpd-php|rtf|csv|markdown)$|[^/]+\/[^/]+\+(?:json|xml|yaml)$)/;

/** The file itself that a part has; `undefined` for a part of another type, too, whatever it has besides. */
export const fileIn = ({ type, file }: ContentPart): InlineFile | undefined =>
  type === "file" && file ? inlineFile(file) : undefined;

/** Types that are no text, whatever the bytes are. */
const noTexts = /^(?:image|audio|video)\//;

/** What is in a file of text: also in one whose type does not say so, as model servers go by its name or its bytes. */
function textBytes(file: InlineFile): Buffer | undefined {
  const isNamed = texts.test(file.mediaType);
  if (!isNamed && (noTexts.test(file.mediaType) || isPdf(file))) return undefined;
  const bytes = Buffer.from(file.data, "base64");
  return isNamed || (!bytes.includes(0) && isUtf8(bytes)) ? bytes : undefined;
}

/** About how many bytes the text has that a part's file is; `undefined` where it is none. */
export function textLength(part: ContentPart): number | undefined {
  const content = fileIn(part);
  if (!content || !(texts.test(content.mediaType) || textBytes(content))) return undefined;
  return Math.ceil(content.data.length * 0.75);
}

/** The text that a part's file is; `undefined` where it is none, or the part no file. */
export function textOfFile(part: ContentPart): string | undefined {
  const content = fileIn(part);
  const bytes = content && textBytes(content);
  return bytes && decoded(bytes, content.charset);
}

/** Text in a charset: what its first bytes say, else the one that is named, else UTF-8. */
function decoded(bytes: Buffer, charset: string): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder(charset || "utf-8").decode(bytes);
  } catch {
    // Nobody knows that charset.
    return new TextDecoder().decode(bytes);
  }
}

/**
 * A part that tells what is in a file.
 * @param i its position in the message: other texts are set off
 */
export function toldFile({ filename }: FileData, text: string, i: number): ContentPart {
  const told = `${inFile(filename, text.replace(/\n$/, ""))}\n\n`;
  return {
    $typeName: "lintel.v1.ContentPart",
    type: "text",
    text: i === 0 ? told : `\n\n${told}`,
  };
}

/** A text with the name of the file, or the document, that it is from; empty: it has none. */
export const inFile = (name: string, text: string): string =>
  `<file${name === "" ? "" : ` name=${JSON.stringify(name)}`}>\n${text}\n</file>`;
