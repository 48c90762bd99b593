/** Tools in namespaces, as Codex sends those of MCP servers. Models know none: theirs is one name. */

/** What a client calls a tool. */
export interface Named {
  readonly name: string;
  /** Absent: it is in none. */
  readonly namespace?: string;
  /** Whether it is the client's search for tools, calls of which are items of their own. */
  readonly searches?: boolean;
}

/** Tools that clients call otherwise, by the names that models know. */
export type Namespaces = ReadonlyMap<string, Named>;

/** The name that a model knows, where that is another than a client's. */
export const qualified = (namespace: unknown, name: unknown): unknown =>
  typeof namespace === "string" && typeof name === "string" ? `${namespace}__${name}` : name;
