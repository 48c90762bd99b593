/** The text of a PDF, in the thread that reads it. */
import type { DocumentText } from "../core/documents.js";
import { wellFormed } from "../core/well-formed.js";
import { loadPdfJs, type PdfAnnotation, type PdfDocument, type PdfText } from "./pdfjs.js";
import type { Order } from "./protocol.js";

/** What is wrong with a document; its message is for the caller. */
export class Unreadable extends Error {}

/** What is wrong with one page of it. */
class Damaged extends Unreadable {}

/**
 * Reads it; where it has faults that viewers pass over, once more as they do.
 * @throws Unreadable
 */
export async function readText(order: Pick<Order, "pdf" | "length">): Promise<DocumentText> {
  try {
    // pdf.js may take the bytes away.
    return await read({ ...order, pdf: order.pdf.slice() }, true);
  } catch (thrown) {
    if (!(thrown instanceof Damaged)) throw thrown;
    return { ...(await read(order, false)), damaged: true };
  }
}

/** @param strict whether a fault on a page is one of the document; else what can't be read is left out */
async function read({ pdf, length }: Pick<Order, "pdf" | "length">, strict: boolean) {
  const wanted: string[] = [];
  const document = await open(pdf, wanted, strict);
  const about = await aboutOf(document);
  const texts: string[] = [];
  let left = length - (about ?? "").length;
  for (let number = 1; number <= document.numPages; number++) {
    const text = await pageText(document, number);
    // pdf.js leaves out what it has no map for.
    if (wanted[0])
      throw new Unreadable(
        `the PDF has text in the encoding ${wanted[0]}, which can't be read here`,
      );
    if (text === "") continue;
    left -= text.length + (texts.length > 0 ? pageBreak.length : 0);
    if (left < 0) throw new Unreadable(`the PDF has more than ${length} characters of text`);
    texts.push(text);
  }
  if (texts.length === 0) throw new Unreadable("the PDF has no text: its pages may be scanned");
  const pages = document.numPages;
  const blank = pages - texts.length;
  const damaged = about === undefined;
  return { text: texts.join(pageBreak), ...(about && { about }), pages, blank, damaged };
}

/** Names under which something is said in words: dates and ids are none. */
const inWords =
  /^(?:Title|Author|Subject|Keywords|Creator|Producer|pdf:keywords|dc:(?:title|creator|contributor|publisher|description|subject|rights))$/;

/** What is said about a document, in its information and its XMP; `undefined`: that can't be read. */
async function aboutOf(document: PdfDocument): Promise<string | undefined> {
  try {
    const { info, metadata } = await document.getMetadata();
    const { Custom: own = {}, ...known } = info;
    const said = [...Object.entries(known), ...(metadata ?? [])]
      .filter(([name]) => inWords.test(name))
      .map(([, value]) => value);
    const texts = [...said, ...Object.entries(own as object)].flat().map(written);
    return [...new Set(texts)].filter((text) => text !== "").join("\n");
  } catch {
    return undefined;
  }
}

const pageBreak = "\n\n";

/** @param wanted where names of the character maps go that are asked for */
async function open(pdf: Uint8Array, wanted: string[], strict: boolean): Promise<PdfDocument> {
  const { getDocument } = await loadPdfJs();
  const task = getDocument({
    data: pdf,
    verbosity: 0,
    isEvalSupported: false,
    stopAtErrors: strict,
    // Nothing is shown, and nothing fetched.
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    useWasm: false,
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    BinaryDataFactory: class {
      async fetch({ kind, filename }: { readonly kind: string; readonly filename: string }) {
        if (kind === "cMapUrl") wanted.push(filename.replace(/\.bcmap$/, ""));
        throw new Error(`${filename} is not there`);
      }
    },
  });
  try {
    return await task.promise;
  } catch (cause) {
    const locked = (cause as Error).name === "PasswordException";
    throw new Unreadable(
      locked ? "the PDF needs a password" : "this is not a PDF, or a broken one",
      {
        cause,
      },
    );
  }
}

async function pageText(document: PdfDocument, number: number): Promise<string> {
  try {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const upon = await page.getAnnotations();
    page.cleanup();
    const texts = [plain(items), ...upon.flatMap(textsUpon)];
    // What a note says its window says again.
    return [...new Set(texts)].filter((text) => text !== "").join("\n");
  } catch (cause) {
    throw new Damaged(`page ${number} of the PDF is broken`, { cause });
  }
}

/** What is written upon a page: a viewer shows it, and so may a model server. */
const textsUpon = ({ fieldType, fieldValue, contentsObj }: PdfAnnotation): string[] =>
  [(fieldType !== "Btn" && fieldValue) || [], contentsObj?.str ?? ""].flat().map(written);

/** What is written in a text; nothing where it is none. */
const written = (text: unknown): string =>
  typeof text === "string"
    ? wellFormed(text).replaceAll("\0", "").replaceAll("\r", "\n").trim()
    : "";

/** Its lines. Halves of a character may stand in two pieces; U+0000 is what some fonts have for none. */
const plain = (items: readonly PdfText[]): string =>
  wellFormed(items.map(({ str, hasEOL }) => (hasEOL ? `${str}\n` : str)).join(""))
    .replaceAll("\0", "")
    .trimEnd();
