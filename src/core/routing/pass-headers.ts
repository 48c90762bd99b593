/** What callers say in headers, or in RPC metadata, that model servers are told, as the operator has it for each backend. */

/** Names of headers, in lower case. */
export interface PassHeaders {
  /** Of any backend. */
  readonly names: readonly string[];
  /** By the backend's name. */
  readonly of: ReadonlyMap<string, readonly string[]>;
}

/** No backend is told any. */
export const passesNone: PassHeaders = { names: [], of: new Map() };

/** @param backends names of headers in lower case, by the backend's name */
export function passHeadersOf(
  backends: Iterable<readonly [backend: string, names: readonly string[]]>,
): PassHeaders {
  const of = new Map(backends);
  return { names: [...new Set([...of.values()].flat())], of };
}

/** What a caller says in any of them; absent: nothing. */
export function passedIn(
  header: ((name: string) => string | undefined) | undefined,
  { names }: PassHeaders,
): ReadonlyMap<string, string> | undefined {
  if (names.length === 0 || !header) return undefined;
  return among(names, header);
}

/** Of what a caller says what one backend is told; absent: nothing. */
export function passedTo(
  backend: string,
  passed: ReadonlyMap<string, string> | undefined,
  { of }: PassHeaders,
): ReadonlyMap<string, string> | undefined {
  const names = passed && of.get(backend);
  return names && among(names, (name) => passed.get(name));
}

function among(names: readonly string[], said: (name: string) => string | undefined) {
  const found = names.flatMap((name): [string, string][] => {
    const value = said(name);
    return value === undefined ? [] : [[name, value]];
  });
  return found.length === 0 ? undefined : new Map(found);
}
