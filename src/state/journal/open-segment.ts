/** The file of the journal that is written to. */
import { ftruncateSync, writeSync } from "node:fs";

/** A file that is open for writing at its end. */
export interface OpenSegment {
  readonly path: string;
  readonly fd: number;
  /** Of whole lines. */
  bytes: number;
}

/**
 * Appends lines: all, or none where the disk lets it take back what it took.
 * @throws Error as the disk refuses
 */
export function append(open: OpenSegment, bytes: Buffer): void {
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(open.fd, bytes, done);
  } catch (error) {
    try {
      ftruncateSync(open.fd, open.bytes);
    } catch {
      // It ends in half a line then, which is passed over.
    }
    throw error;
  }
  open.bytes += bytes.length;
}
