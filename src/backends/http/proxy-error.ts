/** What went wrong at a proxy, or behind it before a request was on its way. */
import type { HttpProxy } from "./proxy.js";

/** Tells of the proxy by its host and the variable that names it; never of its user and password. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";

  /** @param what follows the proxy's name: `answered CONNECT with status 403` */
  constructor({ origin, variable }: HttpProxy, what: string, options?: ErrorOptions) {
    super(`the proxy ${new URL(origin).host} (${variable}) ${what}`, options);
  }
}

/** What an error says; for a name with several addresses, what the first of them failed with. */
export function wordsOf(error: Error): string {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  return first instanceof Error ? first.message : error.message;
}
