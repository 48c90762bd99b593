/** Which paths there are, for those who come with another, or with another method. */
import { LintelError } from "../core/errors.js";

/** Which methods a path has, and what is like it. */
export class Paths {
  readonly #exact = new Map<string, Set<string>>();
  readonly #patterns = new Map<string, { readonly test: RegExp; readonly methods: Set<string> }>();

  /** Notes a route; `url` may have `:name` parts and end in `*`. */
  add(url: string, method: string | readonly string[]): void {
    const methods = [method].flat() as string[];
    if (url === "*") return;
    if (!/[:*]/.test(url)) {
      const known = this.#exact.get(url) ?? new Set();
      for (const m of methods) known.add(m);
      this.#exact.set(url, known);
      return;
    }
    const known = this.#patterns.get(url) ?? { test: patternOf(url), methods: new Set() };
    for (const m of methods) known.methods.add(m);
    this.#patterns.set(url, known);
  }

  /** The methods of a path, sorted; none if there is no such path. */
  methodsOf(path: string): string[] {
    const found = new Set(this.#exact.get(path));
    for (const { test, methods } of this.#patterns.values()) {
      if (test.test(path)) for (const m of methods) found.add(m);
    }
    return [...found].sort();
  }

  /**
   * What may have been meant by a path that is not there, such as `POST /llm`: what begins with
   * the same step, and what only lacks its begin, has one too many or another one. Where nothing
   * is like it, as of another API's paths, all there is but for RPCs.
   */
  near(path: string): string[] {
    const first = (of: string) => of.split("/", 2)[1] ?? "";
    const rest = (of: string) => of.slice(1 + first(of).length) || of;
    const isNear = (known: string) =>
      known.endsWith(path) || path.endsWith(rest(known)) || first(known) === first(path);
    const like = this.#shown(isNear);
    const isRpc = (known: string) => first(known).includes(".");
    return like.length > 0 || isRpc(path) ? like : this.#shown((known) => !isRpc(known));
  }

  #shown(isMeant: (path: string) => boolean): string[] {
    return [...this.#exact]
      .filter(([known]) => isMeant(known))
      .flatMap(([known, methods]) =>
        [...methods].filter((m) => shownMethods.has(m)).map((m) => `${m} ${known}`),
      )
      .sort();
  }
}

/** Those that callers use on purpose. */
const shownMethods = new Set(["GET", "POST"]);

/** Most characters of a path that are repeated. */
const longestPath = 100;

/** The error for a path that is not there, which names what is like it. */
export function nothingAt(method: string, path: string, paths: Paths): LintelError {
  const plain = path.replace(/[^\x21-\x7e]/g, "?");
  const cut = plain.length > longestPath ? `${plain.slice(0, longestPath)}…` : plain;
  const near = paths.near(path);
  const last = near.pop();
  const but = near.length > 0 ? `${near.join(", ")} and ${last}` : last;
  const message = `there is no ${method} ${cut} here${but === undefined ? "" : `, but ${but}`}`;
  return new LintelError("not_found", message);
}

function patternOf(url: string): RegExp {
  const source = url
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replace(/:[^/]+/g, "[^/]+")
    .replace(/\*/g, ".*");
  return new RegExp(`^${source}$`);
}
