/** Fetches an image from an address that a model server answered with. */

import { unlessAborted } from "../../core/abort.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import type { Guard } from "./guard.js";
import { asPng, imageLimit, imageOfBase64, isInlineImage, tooLarge } from "./image.js";
import type { LargeAnswer } from "./large.js";
import { userAgent } from "./user-agent.js";

/** How images are fetched. */
export interface FetchImageOptions {
  readonly guard: Guard;
  /** The address that relative ones count from. */
  readonly base: string;
  /** Sent to the server itself only. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest time for one image, milliseconds. */
  readonly timeout?: number;
  /** Most bytes of one image. */
  readonly limit?: number;
}

/** Redirects that are followed. */
const mostRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * The image at an address, as PNG: absolute, relative to the server, or a
 * `data:` URL.
 * @param large the place of the answer that had the address
 * @throws LintelError `upstream_failed` where the guard does not let it through,
 *   it can't be fetched, is too large or no image; `timeout`; the signal's reason
 */
export async function fetchImage(
  address: string,
  options: FetchImageOptions,
  signal: CallSignal,
  large?: LargeAnswer,
): Promise<Uint8Array> {
  if (isInlineImage(address)) return imageOfBase64(address);
  if (!URL.canParse(address, options.base)) throw failed();
  // `AbortSignal.any` does not keep a signal of `AbortSignal.timeout`: collected, it never aborts.
  const within = new AbortController();
  const leave = () => within.abort(signal.reason);
  const late = () => within.abort(new LintelError("timeout", "the image took too long to fetch"));
  let timeout: NodeJS.Timeout | undefined;
  const timer = {
    stop: () => clearTimeout(timeout),
    start() {
      timeout = setTimeout(late, options.timeout ?? 60_000);
    },
  };
  timer.start();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    const url = new URL(address, options.base);
    const pieces = (body: AsyncIterable<Buffer>) => large?.pieces(body, timer) ?? body;
    return await asPng(await download(url, options, within.signal, pieces));
  } catch (thrown) {
    throw within.signal.aborted ? within.signal.reason : errorOf(thrown);
  } finally {
    timer.stop();
    signal.removeEventListener("abort", leave);
  }
}

async function download(
  first: URL,
  { guard, headers, limit = imageLimit }: FetchImageOptions,
  signal: CallSignal,
  pieces: (body: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
): Promise<Buffer> {
  const { request } = await import("undici");
  let url = first;
  for (let hops = 0; hops <= mostRedirects; hops++) {
    const answer = await request(url, {
      dispatcher: await unlessAborted(guard.admit(url, hops > 0), signal),
      headers: {
        accept: "image/png, image/*;q=0.5",
        "user-agent": userAgent,
        ...(guard.isOwn(url) && headers),
      },
      signal,
    });
    const { statusCode, headers: received, body } = answer;
    const { location } = received;
    if (redirects.has(statusCode) && typeof location === "string") {
      // Whatever the body is, it is not read: its connection goes with it.
      body.on("error", () => {}).destroy();
      if (!URL.canParse(location, url.href)) throw failed();
      url = new URL(location, url);
      continue;
    }
    try {
      if (statusCode !== 200) throw failed(new Error(`status ${statusCode}`));
      if (Number(received["content-length"] ?? 0) > limit) throw tooLarge();
      const parts: Buffer[] = [];
      let length = 0;
      for await (const part of pieces(body)) {
        length += part.length;
        if (length > limit) throw tooLarge();
        parts.push(part);
      }
      return Buffer.concat(parts, length);
    } finally {
      body.on("error", () => {}).destroy();
    }
  }
  throw failed(new Error("too many redirects"));
}

/** The guard's own error may come wrapped by the connection. */
function errorOf(thrown: unknown): LintelError {
  if (thrown instanceof LintelError) return thrown;
  return failed(thrown);
}

const failed = (cause?: unknown) =>
  new LintelError("upstream_failed", "the model server's image could not be fetched", { cause });
