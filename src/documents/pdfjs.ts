/** The package unpdf: pdf.js in one file, without what browsers and canvases need. */

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

/** Loads it. */
export const loadPdfJs = async (): Promise<PdfJs> =>
  (await import("unpdf/pdfjs")) as unknown as PdfJs;
