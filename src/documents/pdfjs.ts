/** The package unpdf: pdf.js in one file, without what browsers and canvases need. */
import { importInstalled, isInstalled } from "../installed.js";

/** The little of pdf.js that is used here. */
export interface PdfJs {
  getDocument(settings: Readonly<Record<string, unknown>>): {
    readonly promise: Promise<PdfDocument>;
  };
}

/** An open document. */
export interface PdfDocument {
  readonly numPages: number;
  /** @param number from 1 on */
  getPage(number: number): Promise<PdfPage>;
}

/** A page of it. */
export interface PdfPage {
  getTextContent(): Promise<{ readonly items: readonly PdfText[] }>;
  /** Frees what it took. */
  cleanup(): void;
}

/** A piece of a line. */
export interface PdfText {
  readonly str: string;
  /** Whether the line ends behind it. */
  readonly hasEOL: boolean;
}

const name = "unpdf";

/** Says what is missing to read PDFs; `undefined` if it is there. Loads nothing. */
export const lackOfPdfJs = (): string | undefined =>
  isInstalled(name)
    ? undefined
    : `this gateway can't read PDFs: its optional package ${name} is not installed`;

/** Loads it. */
export const loadPdfJs = async (): Promise<PdfJs> =>
  (await importInstalled(`${name}/pdfjs`)) as unknown as PdfJs;
