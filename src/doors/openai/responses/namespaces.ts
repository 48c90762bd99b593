/** Tools in namespaces, as Codex sends those of MCP servers. Models know none: theirs is one name. */

/** What a client calls a tool. */
export interface Named {
  readonly name: string;
  readonly namespace: string;
}

/** Tools in namespaces by the names that models know. */
export type Namespaces = ReadonlyMap<string, Named>;

/** The name that a model knows, where that is another than a client's. */
export const qualified = (namespace: unknown, name: unknown): unknown =>
  typeof namespace === "string" && typeof name === "string" ? `${namespace}__${name}` : name;
