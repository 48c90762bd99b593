/**
 * Attention as one node. Exporters write it as eight: the scores of every pair of places are
 * then in memory at once, 1 GB for a picture of 512 x 512 and sixteen times that for one of
 * twice the size, where ONNX Runtime's own operator takes them in pieces, and less time.
 */

import type { Node } from "../file/model-proto.js";
import { floatAttribute, intAttribute, integersNode, nodeField, ofDomain } from "../file/nodes.js";
import { makersIn, type OnnxFile } from "../file/onnx.js";
import { ownOperators } from "../file/rewrite.js";
import { type Attention, AttentionReader, type Root } from "./reader.js";

/**
 * The attention of a graph, as ONNX Runtime has it.
 * @returns fields by the nodes in whose place they come; nothing where there is none, or none of a known form
 */
export function fuseAttention(file: OnnxFile): ReadonlyMap<Node, Uint8Array> {
  const edits = new Map<Node, Uint8Array>();
  const isGraph = ({ attributes }: Node) => [...attributes.values()].some((one) => one.isGraph);
  // What a graph inside of a node uses of this one can't be told from outside.
  if (file.nodes.some(isGraph)) return edits;
  const reader = new AttentionReader(file);
  const found = file.nodes.flatMap((node) => reader.around(node) ?? []);
  const kept: string[] = [];
  for (const attention of found) {
    const { query, key, value, roots, last, shapes, alike } = attention;
    edits.set(last, fieldsOf(attention));
    kept.push(query, key, value);
    const ask = (shape: Node, of: string) => {
      edits.set(shape, nodeField("Shape", [of], shape.outputs[0] as string));
      kept.push(of);
    };
    for (const shape of shapes) ask(shape, alike);
    for (const { value, shape } of roots ?? []) {
      kept.push(value);
      // The last axis stays the last: nobody has to exchange the others to know its size.
      if (reader.isOnlyLast(shape)) ask(shape, query);
    }
  }
  for (const node of unused(file, [...edits.keys()], kept)) edits.set(node, Buffer.alloc(0));
  return edits;
}

/** Of attention, with shapes of three axes as the operator wants them. */
function fieldsOf({ query, key, value, heads, scale, roots, last }: Attention): Uint8Array {
  const result = last.outputs[0] as string;
  const own = (name: string) => `${result}/lintel/${name}`;
  const flat = (name: string, of: string) => nodeField("Reshape", [of, own("flat")], own(name));
  // Before the product, as exported: what is in half precision might have no end in it otherwise.
  const rooted = (name: string, root: Root) =>
    nodeField("Mul", [own(name), root.value], own(`${name}_rooted`));
  const names = roots ? ["query_rooted", "key_rooted"] : ["query", "key"];
  return Buffer.concat([
    integersNode(own("flat"), [0, 0, -1]),
    flat("query", query),
    flat("key", key),
    flat("value", value),
    ...(roots ? [rooted("query", roots[0]), rooted("key", roots[1])] : []),
    nodeField(
      "MultiHeadAttention",
      [...names, "value"].map(own),
      own("result"),
      ofDomain(ownOperators),
      intAttribute("num_heads", heads),
      floatAttribute("scale", scale),
    ),
    integersNode(own("heads"), [0, 0, heads, -1]),
    nodeField("Reshape", [own("result"), own("heads")], result),
  ]);
}

/** Nodes whose results nobody uses once some are gone. */
function unused(file: OnnxFile, gone: readonly Node[], kept: readonly string[]): Node[] {
  const makers = makersIn(file);
  const uses = new Map<string, number>();
  const use = (name: string, more: number) => uses.set(name, (uses.get(name) ?? 0) + more);
  for (const name of [...file.nodes.flatMap(({ inputs }) => inputs), ...file.outputs, ...kept]) {
    use(name, 1);
  }
  const found: Node[] = [];
  const leave = ({ inputs }: Node) => {
    for (const name of inputs) {
      use(name, -1);
      const maker = makers.get(name);
      if (!maker || maker.outputs.some((output) => (uses.get(output) ?? 0) > 0)) continue;
      found.push(maker);
      leave(maker);
    }
  };
  for (const node of gone) leave(node);
  return found;
}
