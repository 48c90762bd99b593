/** The bearer token of a request, the same for every door. */
import type { FastifyInstance } from "fastify";

/**
 * Takes the token out of an `authorization` header. The scheme's case does not
 * matter, nor how many blanks follow it.
 * @returns the token; `undefined` if there is none or the scheme is another
 */
export function credentialOf(authorization: string | undefined): string | undefined {
  const match = /^ *bearer +([^\s]+) *$/i.exec(authorization ?? "");
  return match?.[1];
}

/** Makes a door take a key in `x-api-key`, as Anthropic's clients send it, for a bearer token where there is none. */
export function takeApiKeys(app: FastifyInstance): void {
  // Ahead of the body, which is read once its sender is let in.
  app.addHook("onRequest", (request, _, done) => {
    const { authorization, "x-api-key": key } = request.headers;
    if (authorization === undefined && typeof key === "string" && key !== "") {
      request.headers.authorization = `Bearer ${key}`;
    }
    done();
  });
}
