/** The `fetch` of providers: undici's, and no further than the guard lets it. */
import { type Dispatcher, type RequestInit, type Response, fetch as send } from "undici";
import type { Guard } from "../http/guard.js";
import { imageLimit, tooLarge } from "../http/image.js";
import type { Fetch } from "./load.js";

/** What is needed to send. */
export interface FetchOptions {
  readonly guard: Guard;
  /** For requests to the provider itself. */
  readonly dispatcher: Dispatcher;
}

/** Redirects that are followed. */
const mostRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Makes a `fetch`. What a provider posts goes where its package and the
 * operator say; that is from then on the provider's own origin. What it gets may
 * come from an answer: so it is guarded, redirects too, and limited in size.
 */
export function guardedFetch({ guard, dispatcher }: FetchOptions): Fetch {
  const guarded = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    let url = new URL(input);
    const method = init.method?.toUpperCase() ?? "GET";
    if (method !== "GET" && method !== "HEAD") {
      guard.trust(url.origin);
      return send(url, { ...init, dispatcher, redirect: "manual" });
    }
    let { headers } = init;
    for (let hops = 0; hops <= mostRedirects; hops++) {
      const via = guard.isOwn(url) ? dispatcher : guard.admit(url, hops > 0);
      const response = await send(url, {
        ...init,
        ...(headers && { headers }),
        dispatcher: via,
        redirect: "manual",
      });
      const location = response.headers.get("location");
      if (!redirects.has(response.status) || location === null) return limited(response);
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

/** The response, that fails where it grows too large. */
function limited(response: Response): Response {
  const { body, headers, status, statusText } = response;
  if (Number(headers.get("content-length") ?? 0) > imageLimit) throw tooLarge();
  if (!body) return response;
  let length = 0;
  const counted = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        length += part.byteLength;
        if (length > imageLimit) controller.error(tooLarge());
        else controller.enqueue(part);
      },
    }),
  );
  return new (response.constructor as typeof Response)(counted, { status, statusText, headers });
}
