/**
 * What is more in a second snapshot of a heap than in a first one, by constructor, with the way from the
 * roots to most of them: `npx tsx bench/soak/heap.ts first.heapsnapshot second.heapsnapshot`.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

interface Kind {
  count: number;
  bytes: number;
}

/** A snapshot, as V8 writes it, in columns. */
class Heap {
  readonly #nodes: readonly number[];
  readonly #edges: readonly number[];
  readonly #strings: readonly string[];
  readonly #nodeTypes: readonly string[];
  readonly #edgeTypes: readonly string[];
  readonly #width: number;
  readonly #edgeWidth: number;
  #parents: Int32Array | undefined;
  #parentEdges: Int32Array | undefined;

  constructor(file: string) {
    const { nodes, edges, strings, snapshot } = JSON.parse(readFileSync(file, "utf8"));
    const { node_fields, node_types, edge_fields, edge_types } = snapshot.meta;
    this.#nodes = nodes;
    this.#edges = edges;
    this.#strings = strings;
    this.#nodeTypes = node_types[0];
    this.#edgeTypes = edge_types[0];
    this.#width = node_fields.length;
    this.#edgeWidth = edge_fields.length;
  }

  get size(): number {
    return this.#nodes.length / this.#width;
  }

  /** Its constructor, for what has one. */
  kindOf(node: number): string {
    const type = this.#nodeTypes[this.#nodes[node * this.#width] as number] as string;
    const name = this.#strings[this.#nodes[node * this.#width + 1] as number] as string;
    if (type === "object" || type === "native" || type === "closure") {
      return `${type} ${name.slice(0, 60)}`;
    }
    return type === "hidden" || type === "code" || type === "array"
      ? `(${type}) ${name.slice(0, 40)}`
      : `(${type})`;
  }

  kinds(): Map<string, Kind> {
    const kinds = new Map<string, Kind>();
    for (let node = 0; node < this.size; node++) {
      const name = this.kindOf(node);
      const kind = kinds.get(name) ?? { count: 0, bytes: 0 };
      kind.count++;
      kind.bytes += this.#nodes[node * this.#width + 3] as number;
      kinds.set(name, kind);
    }
    return kinds;
  }

  /** Walks from the root, nearest first; weak edges hold nothing. */
  #walk(): void {
    const parents = new Int32Array(this.size).fill(-1);
    const parentEdges = new Int32Array(this.size).fill(-1);
    const first = new Int32Array(this.size + 1);
    for (let node = 0; node < this.size; node++) {
      first[node + 1] = (first[node] as number) + (this.#nodes[node * this.#width + 4] as number);
    }
    const weak = this.#edgeTypes.indexOf("weak");
    const queue = new Int32Array(this.size);
    let end = 1;
    parents[0] = 0;
    for (let at = 0; at < end; at++) {
      const node = queue[at] as number;
      for (let edge = first[node] as number; edge < (first[node + 1] as number); edge++) {
        const place = edge * this.#edgeWidth;
        if (this.#edges[place] === weak) continue;
        const to = (this.#edges[place + 2] as number) / this.#width;
        if (parents[to] !== -1) continue;
        parents[to] = node;
        parentEdges[to] = place;
        queue[end++] = to;
      }
    }
    this.#parents = parents;
    this.#parentEdges = parentEdges;
  }

  /** The most frequent ways to what is of a kind, as text, with how many have it. */
  ways(kind: string, steps = 9): [string, number][] {
    if (!this.#parents) this.#walk();
    const ways = new Map<string, number>();
    for (let node = 0; node < this.size; node++) {
      if (this.kindOf(node) !== kind) continue;
      const way: string[] = [];
      let at = node;
      for (let i = 0; i < steps && at > 0; i++) {
        const edge = this.#parentEdges?.[at] as number;
        const parent = this.#parents?.[at] as number;
        if (parent < 0 || edge < 0) break;
        const type = this.#edgeTypes[this.#edges[edge] as number];
        const label = this.#edges[edge + 1] as number;
        const name = type === "element" || type === "hidden" ? "[]" : this.#strings[label];
        way.push(
          `${this.kindOf(parent).replace(/^object /, "")}.${name?.replace(/\d+/g, "#").slice(0, 40)}`,
        );
        at = parent;
      }
      const text = way.join(" < ");
      ways.set(text, (ways.get(text) ?? 0) + 1);
    }
    return [...ways].sort(([, one], [, other]) => other - one);
  }
}

/** Lines that tell what grew, most bytes and most objects first. */
export function growth(before: string, after: string, most = 40): string[] {
  const first = new Heap(before).kinds();
  const heap = new Heap(after);
  const grown = [...heap.kinds()]
    .map(([name, { count, bytes }]) => ({
      name,
      count,
      more: count - (first.get(name)?.count ?? 0),
      bytes: bytes - (first.get(name)?.bytes ?? 0),
    }))
    .filter(({ more, bytes }) => more >= 50 || bytes >= 20_000)
    .sort((one, other) => other.more * 40 + other.bytes - (one.more * 40 + one.bytes))
    .slice(0, most);
  return grown.flatMap(({ name, count, more, bytes }) => [
    `${String(more).padStart(8)} more (${count}), ${(bytes / 1024).toFixed(0)} KB more: ${name}`,
    ...heap
      .ways(name)
      .slice(0, 3)
      .map(([way, n]) => `             ${n} × ${way}`),
  ]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [before = "", after = ""] = process.argv.slice(2);
  for (const line of growth(before, after)) console.log(line);
}
