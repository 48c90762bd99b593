/** Which methods a path has, for those who come with another. */
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
}

function patternOf(url: string): RegExp {
  const source = url
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replace(/:[^/]+/g, "[^/]+")
    .replace(/\*/g, ".*");
  return new RegExp(`^${source}$`);
}
