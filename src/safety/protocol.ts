/** What the checkers' thread is told and what it says. */

/** What looks at the images. */
export type ThreadSettings = {
  /** The labels that mean harm. */
  readonly labels: readonly string[];
  /** Sum of their certainties from which an image is harmful, above 0 to 1. */
  readonly threshold: number;
} & (
  | { readonly kind: "classifier"; readonly folder: string }
  | {
      readonly kind: "nsfwjs";
      readonly model?: string | undefined;
      /** Where its packages may be besides Lintel's own. Default: where Lintel was started. */
      readonly folder?: string;
    }
);

/** An image to look at. */
export interface Question {
  readonly id: number;
  /** PNG bytes. */
  readonly png: Uint8Array;
}

/** The verdict on an image, or why there is none; without an id: why there will never be one. */
export type Verdict =
  | { readonly id: number; readonly harmful: boolean }
  | { readonly id?: number; readonly problem: string };

/** Looks at a picture: certainties by label, 0 to 1. */
export type Classify = (picture: Picture) => Promise<ReadonlyMap<string, number>>;

/** 8-bit RGB, rows from the top. */
export interface Picture {
  readonly rgb: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}
