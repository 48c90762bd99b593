/** What the checkers' thread is told and what it says. */
import type { Picture } from "../media/pictures.js";

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

/** To the checkers' thread. */
export type Order =
  /** An image to look at, as PNG bytes. */
  | { readonly type: "check"; readonly id: number; readonly png: Uint8Array }
  /** Nobody waits for this image any more. */
  | { readonly type: "drop"; readonly id: number }
  /** Leave, after the image that is looked at; those that wait are dropped. */
  | { readonly type: "close" };

/** From the checkers' thread. */
export type Report =
  | { readonly type: "loaded" }
  /** The model can't be loaded; the thread leaves. */
  | { readonly type: "unloadable"; readonly problem: string }
  | { readonly type: "verdict"; readonly id: number; readonly harmful: boolean }
  /** There is no verdict on this image. */
  | { readonly type: "failed"; readonly id: number; readonly problem: string };

/** Looks at a picture: certainties by label, 0 to 1. */
export type Classify = (picture: Picture) => Promise<ReadonlyMap<string, number>>;
