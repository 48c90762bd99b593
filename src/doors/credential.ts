/** The bearer token of a request, the same for every door. */

/**
 * Takes the token out of an `authorization` header. The scheme's case does not
 * matter, nor how many blanks follow it.
 * @returns the token; `undefined` if there is none or the scheme is another
 */
export function credentialOf(authorization: string | undefined): string | undefined {
  const match = /^ *bearer +([^\s]+) *$/i.exec(authorization ?? "");
  return match?.[1];
}
