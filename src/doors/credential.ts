/** The bearer token of a request, the same for every door. */
import type { onRequestHookHandler } from "fastify";

/**
 * Takes the token out of an `authorization` header. The scheme's case does not
 * matter, nor how many blanks follow it.
 * @returns the token; `undefined` if there is none or the scheme is another
 */
export function credentialOf(authorization: string | undefined): string | undefined {
  const match = /^ *bearer +([^\s]+) *$/i.exec(authorization ?? "");
  return match?.[1];
}

/**
 * Takes a key in `x-api-key`, as Anthropic's clients send it, in `x-goog-api-key`, as Google's do, or in
 * `api-key`, as Azure's do, for a bearer token where there is none: ahead of the body, which is read once its
 * sender is let in.
 */
export const apiKeyAsToken: onRequestHookHandler = ({ headers }, _, done) => {
  if (headers.authorization === undefined) {
    const key = headers["x-api-key"] ?? headers["x-goog-api-key"] ?? headers["api-key"];
    if (typeof key === "string") headers.authorization = `Bearer ${key}`;
  }
  done();
};
