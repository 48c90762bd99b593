/** Where generated images live until they are fetched. */

/** An image in the store. */
export interface StoredMedia {
  /** The bytes, whole. */
  readonly data: Uint8Array;
  /** Media type, for example `image/png`. */
  readonly mimeType: string;
}

/** A place for images. */
export interface MediaStore {
  /**
   * Keeps an image under a random name of at least 128 bits.
   * @returns the name, for example `3f…a1.png`
   * @throws LintelError `internal` if it can't be written
   */
  put(data: Uint8Array, mimeType: string): Promise<string>;
  /** The image, or `undefined` if there is none of that name or it expired. */
  get(name: string): Promise<StoredMedia | undefined>;
  /** Address of the image for callers, absolute, or a `data:` URL. */
  url(name: string, image: StoredMedia): string;
  /** Forgets an image; nothing happens if it is not there. */
  delete(name: string): Promise<void>;
  /** Stops its housekeeping. */
  close(): Promise<void>;
}

/** Estimates whether an image could be harmful. */
export interface SafetyChecker {
  /**
   * @param image PNG bytes
   * @throws LintelError if the check can't be done
   */
  isHarmful(image: Uint8Array, signal: AbortSignal): Promise<boolean>;
}
