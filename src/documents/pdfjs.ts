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
  getMetadata(): Promise<PdfMetadata>;
}

/** What is said about it. */
export interface PdfMetadata {
  /** Of its information dictionary; `Custom` has entries that nobody knows. */
  readonly info: Readonly<Record<string, unknown>>;
  /** Of its XMP, by prefixed names in lower case after the colon; `null`: it has none. */
  readonly metadata: Iterable<readonly [name: string, value: unknown]> | null;
}

/** A page of it. */
export interface PdfPage {
  getTextContent(): Promise<{ readonly items: readonly PdfText[] }>;
  /** What lies upon it, such as fields of forms, and notes. */
  getAnnotations(): Promise<readonly PdfAnnotation[]>;
  /** Frees what it took. */
  cleanup(): void;
}

/** A piece of a line. */
export interface PdfText {
  readonly str: string;
  /** Whether the line ends behind it. */
  readonly hasEOL: boolean;
}

/** What lies upon a page. */
export interface PdfAnnotation {
  /** Of a field: what it is, `Btn` for what is pressed or ticked. */
  readonly fieldType?: string | null;
  /** Of a field: what it is filled with, or what is chosen of it. */
  readonly fieldValue?: string | readonly string[] | null;
  /** What a note says, and what stands in a box of text. */
  readonly contentsObj?: { readonly str: string };
}

/** Loads it. */
export const loadPdfJs = async (): Promise<PdfJs> =>
  (await import("unpdf/pdfjs")) as unknown as PdfJs;
