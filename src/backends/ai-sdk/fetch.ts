/** The `fetch` of providers: undici's, and no further than the guard lets it. */
import { type Dispatcher, Headers, type RequestInit, Response, fetch as send } from "undici";
import { asWritten } from "../../core/long-numbers.js";
import { answerLimit } from "../completions/reading.js";
import { nonsense } from "../http/failure.js";
import type { Guard } from "../http/guard.js";
import { bytesOfBase64, imageLimit, isInlineImage, tooLarge } from "../http/image.js";
import { whatComes } from "../http/refused.js";
import type { Fetch } from "./load.js";
import { untilDone } from "./until-done.js";
import { asEvents, asksForStream } from "./whole.js";
import { unlessWithheld } from "./withheld.js";
import { eventsWithWritten, offersTools, type WrittenIn, withWritten } from "./written.js";

/** Providers hand on headers as they are, and options but some: by this one a request asks its stream to count tokens. */
const usageHeader = "lintel-stream-usage";

/** Headers of such a request. */
export const askingForUsage = { [usageHeader]: "1" };

/** What is needed to send. */
export interface FetchOptions {
  readonly guard: Guard;
  /** For requests to the provider itself. */
  readonly connections: { readonly current: Dispatcher };
  /** Whether answers may have images in them. */
  readonly images: boolean;
  /** Where arguments of calls are objects. Default: nowhere. */
  readonly written?: WrittenIn | undefined;
}

/** Most bytes of an answer that is no JSON or has images; of one event of a stream as of a whole chat, which may have a picture. */
const largest = 256 * 1024 * 1024;

/** Redirects that are followed. */
const mostRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Makes a `fetch`. What a provider posts goes where its package and the
 * operator say; that is from then on the provider's own origin. What it gets may
 * come from an answer: so it is guarded, redirects too. All answers are limited in
 * size, as they are once unpacked.
 */
export function guardedFetch({ guard, connections, images, written }: FetchOptions): Fetch {
  const guarded = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    let url = new URL(input);
    const method = init.method?.toUpperCase() ?? "GET";
    if (method !== "GET" && method !== "HEAD") {
      guard.trust(url.origin);
      const request = withUsage(init);
      const body = typeof request.body === "string" ? { body: asWritten(request.body) } : {};
      const dispatcher = connections.current;
      const response = await send(url, { ...request, ...body, dispatcher, redirect: "manual" });
      if (!response.ok) return refused(response, init.signal);
      const type = response.headers.get("content-type") ?? "";
      if (/\btext\/event-stream\b/i.test(type)) {
        const events = limited(response, answerLimit, true);
        return written === "always" && offersTools(init.body) ? eventsWithWritten(events) : events;
      }
      const json = /\bjson\b/i.test(type);
      const whole = limited(response, json && !images ? answerLimit : largest);
      if (asksForStream(init.body)) return asEvents(whole);
      if (written && json && offersTools(init.body)) return withWritten(whole);
      return images ? unlessWithheld(whole) : whole;
    }
    if (isInlineImage(url.href)) return new Response(bytesOfBase64(url.href));
    let { headers } = init;
    for (let hops = 0; hops <= mostRedirects; hops++) {
      const via = guard.isOwn(url) ? connections.current : await guard.admit(url, hops > 0);
      const response = await send(url, {
        ...init,
        ...(headers && { headers }),
        dispatcher: via,
        redirect: "manual",
      });
      const location = response.headers.get("location");
      if (!redirects.has(response.status) || location === null) {
        const got = limited(response, imageLimit, false, tooLarge);
        return images && got.ok ? unlessWithheld(got) : got;
      }
      await response.body?.cancel();
      const next = new URL(location, url);
      // Keys are for the one that they were meant for.
      if (next.origin !== url.origin) headers = {};
      url = next;
    }
    throw new Error("too many redirects");
  };
  return guarded as unknown as Fetch;
}

/** A request that asks its stream to count tokens, if it is told to, and does not ask already. */
function withUsage(init: RequestInit): RequestInit {
  const headers = new Headers(init.headers);
  if (!headers.has(usageHeader)) return init;
  headers.delete(usageHeader);
  const { body } = init;
  const isStream = typeof body === "string" && body.includes('"stream":true');
  if (!isStream || body.includes('"stream_options":')) return { ...init, headers };
  const asking = `${body.slice(0, -1)},"stream_options":{"include_usage":true}}`;
  return { ...init, headers, body: asking };
}

/**
 * The response, with as much of its body as came in time.
 * @throws the signal's reason
 */
async function refused(response: Response, signal: RequestInit["signal"]): Promise<Response> {
  const { body, headers, status, statusText } = response;
  if (!body) return response;
  const reader = body.getReader();
  const pieces = async function* () {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  };
  const came = await whatComes(pieces(), () => void reader.cancel().catch(() => {}));
  signal?.throwIfAborted();
  return new Response(came, { headers, status, statusText });
}

/**
 * The response, that fails where it grows too large.
 * @param limit most bytes
 * @param events whether it is a stream of events: the limit is for one of them, and the marker of its end is heeded
 */
function limited(
  response: Response,
  limit: number,
  events = false,
  failure = () => nonsense("sent an answer that is too large"),
): Response {
  const { body, headers, status, statusText } = response;
  if (!body) return response;
  if (!events && Number(headers.get("content-length") ?? 0) > limit) {
    // Its connection would be held until the response is collected.
    void body.cancel().catch(() => {});
    throw failure();
  }
  let length = 0;
  const counted = (events ? untilDone(body) : body).pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        const begun = events ? lastEvent(part) : -1;
        length = begun === -1 ? length + part.byteLength : part.byteLength - begun;
        if (length > limit) controller.error(failure());
        else controller.enqueue(part);
      },
    }),
  );
  return new Response(counted, { status, statusText, headers });
}

/** Where the last event begins; -1: none does. Of a blank line that is cut in two the next one tells. */
function lastEvent({ buffer, byteOffset, byteLength }: Uint8Array): number {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  return Math.max(...["\n\n", "\n\r\n", "\r\r"].map((blank) => bytes.lastIndexOf(blank)));
}
