/** Where generated images live until they are fetched, and who looks at them first. */

import type { Readable } from "node:stream";
import type { CallSignal } from "./cancellation.js";
import { LintelError } from "./errors.js";

/** Bytes of an image, counted from 0; both ends are meant. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** An image in the store, open to be read. */
export interface StoredMedia {
  /** Media type: `image/png`. */
  readonly mimeType: string;
  /** Bytes. */
  readonly size: number;
  /** When the store forgets it, milliseconds since the epoch. */
  readonly expiresAt: number;
  /**
   * Its bytes, or some of them. Once at most; the stream's end frees what was open. Fails with
   * `not_found` where it is gone meanwhile.
   */
  read(range?: ByteRange): Readable;
  /** Frees what was open; for who does not read. */
  close(): Promise<void>;
}

/** The error for who asks for an image that is not there. */
export const noImage = () => new LintelError("not_found", "no such image");

/** A place for images. */
export interface MediaStore {
  /**
   * Keeps an image under a random name of at least 128 bits.
   * @param baseUrl what the gateway's addresses begin with for this caller, without
   *   a slash at the end; absent: for all
   * @param signal aborted once nobody waits for it: then it may be given up, and is not kept
   * @returns its address for callers: absolute, or a `data:` URL
   * @throws LintelError `internal` if it can't be written, `unavailable` if that may pass; the signal's reason
   */
  put(png: Uint8Array, baseUrl?: string, signal?: CallSignal): Promise<string>;
  /**
   * The image, or `undefined` if there is none of that name or it expired.
   * @param signal aborted once nobody waits for it, nor for what is read of it
   */
  get(name: string, signal?: CallSignal): Promise<StoredMedia | undefined>;
  /** Forgets an image; nothing happens if it is not there. */
  delete(name: string): Promise<void>;
  /** Whether it did not do what was asked of it last, and how often it began not to; absent: it is here. */
  readonly state?: { readonly away: boolean; readonly outages: number };
  /** Stops its housekeeping. */
  close(): Promise<void>;
}

/** Estimates whether an image could be harmful. */
export interface SafetyChecker {
  /**
   * @param image PNG bytes
   * @throws LintelError if the check can't be done
   */
  isHarmful(image: Uint8Array, signal: CallSignal): Promise<boolean>;
}
