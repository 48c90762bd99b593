/** Where a server's API is. */

/** The parts of a base URL. */
export interface Address {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path of a request, for example `at("/chat/completions")`, with what it asks for besides. */
  at(path: string, query?: string): string;
  /** Path of a request to what stands beside the API, as vLLM's `/tokenize` does. */
  beside(path: string): string;
}

/**
 * Reads a base URL as people have it: with or without `/v1`, with a trailing
 * slash, copied with `/chat/completions` at its end, or with a query
 * (`?api-version=…`), which is kept. One that was copied says all of its path: Perplexity's has no `/v1`.
 */
export function addressOf(text: string): Address {
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, "");
  const base = path === "" ? "/v1" : path.replace(/\/+(?:chat\/completions|models)$/, "");
  const { origin, search } = url;
  return {
    origin,
    beside: (path) => `${base.replace(/\/v1$/, "")}${path}${search}`,
    at: (path, query) =>
      `${base}${path}${search}${query === undefined ? "" : `${search === "" ? "?" : "&"}${query}`}`,
  };
}
