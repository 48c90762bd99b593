/** Which paths there are, for those who come with another, or with another method. */
import { LintelError } from "../core/errors.js";
import type { ErrorForm } from "../doors/json/error.js";

/** A path, or a pattern of paths. */
interface Route {
  readonly test: RegExp;
  readonly methods: Set<string>;
  /** How its errors look; absent: as the contract has them. */
  form?: ErrorForm | undefined;
  /** Whether it is another path's second name. */
  readonly alias: boolean;
}

/** Which methods a path has, how errors look there, and what is like it. */
export class Paths {
  readonly #exact = new Map<string, Route>();
  readonly #patterns = new Map<string, Route>();

  /**
   * Notes a route; `url` may have `:name` parts and end in `*`.
   * @param form of its errors; absent: the contract's
   * @param alias whether it is another path's second name, of which only they hear who ask below its first step
   */
  add(url: string, method: string | readonly string[], form?: ErrorForm, alias = false): void {
    const methods = [method].flat() as string[];
    if (url === "*") return;
    const routes = /[:*]/.test(url) ? this.#patterns : this.#exact;
    const known = routes.get(url) ?? { test: patternOf(url), methods: new Set(), form, alias };
    for (const m of methods) known.methods.add(m);
    // Where clients of several kinds ask it is the contract's.
    if (known.form !== form) known.form = undefined;
    routes.set(url, known);
  }

  /** The methods of a path, sorted; none if there is no such path. */
  methodsOf(path: string): string[] {
    const found = new Set(this.#exact.get(path)?.methods);
    for (const { test, methods } of this.#patterns.values()) {
      if (test.test(path)) for (const m of methods) found.add(m);
    }
    return [...found].sort();
  }

  /** How errors look at a path; `undefined`: as the contract has them. */
  formOf(path: string): ErrorForm | undefined {
    const exact = this.#exact.get(path);
    return (exact ?? [...this.#patterns.values()].find(({ test }) => test.test(path)))?.form;
  }

  /**
   * What may have been meant by a path that is not there, such as `POST /llm`: what begins with
   * the same step, or is the same in other letters, and what only lacks its begin or its end, has
   * one too many, or another begin. Where nothing is like it, all that there is of its kind: the methods of its
   * package, or the paths that are no RPC's.
   */
  near(path: string): string[] {
    const asked = plain(path);
    const like = (known: string) =>
      known.endsWith(path) ||
      path.endsWith(endOf(known)) ||
      stepOf(known) === stepOf(path) ||
      (asked !== "/" && plain(known).startsWith(asked));
    const known = [...this.#exact]
      .filter(([one, { alias }]) => !alias || stepOf(one) === stepOf(path))
      .map(([one]) => one);
    const found = known.filter(like);
    const meant = found.length > 0 ? found : known.filter((one) => kindOf(one) === kindOf(path));
    return meant
      .flatMap((one) =>
        [...(this.#exact.get(one)?.methods ?? [])]
          .filter((m) => shownMethods.has(m))
          .map((m) => `${m} ${one}`),
      )
      .sort();
  }
}

const stepOf = (path: string): string => path.split("/", 2)[1] ?? "";

/** What stands behind the first step; all, where that is all. */
const endOf = (path: string): string => path.slice(1 + stepOf(path).length) || path;

/** In letters that many write for others. */
const plain = (path: string): string => path.toLowerCase().replaceAll("_", "-");

/** The package of an RPC's service, which has a dot; none for all other paths. */
const kindOf = (path: string): string => /^(\w[\w.]*)\.\w+$/.exec(stepOf(path))?.[1] ?? "";

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
