/** Workflows in ComfyUI's API format: nodes by their ids, links as `[node, output]`. */
import { isObject, parseJson } from "../../core/json.js";
import { cfgOf } from "../cfg.js";
import type { InputMap } from "./schema.js";

/** A node. */
export interface Node {
  readonly class_type: string;
  readonly inputs: Record<string, unknown>;
}

/** A workflow. */
export type Workflow = Record<string, Node>;

/** Fields of requests that go into inputs. */
export type MappedField = Exclude<keyof InputMap, "loras" | "output">;

/** What is put into the inputs. */
export type Values = { readonly [F in MappedField]?: string | number | undefined };

/** A LoRA in a workflow: the file as ComfyUI lists it, and its weight. */
export interface PlacedLora {
  readonly file: string;
  readonly weight: number;
}

/**
 * Reads a workflow and checks a map against it.
 * @returns the workflow, or what is wrong in words for the operator
 */
export function readWorkflow(text: string, map: InputMap): Workflow | string {
  const json = parseJson(text);
  if (!isObject(json)) return "is not a workflow: not a JSON object";
  if (Array.isArray(json.nodes)) {
    return "is a workflow of the editor; export it for the API (Workflow, Export (API))";
  }
  for (const [id, node] of Object.entries(json)) {
    if (!isObject(node) || typeof node.class_type !== "string" || !isObject(node.inputs)) {
      return `is not a workflow: "${id}" is not a node with class_type and inputs`;
    }
  }
  const workflow = json as unknown as Workflow;
  return problemOf(workflow, map) ?? workflow;
}

function problemOf(workflow: Workflow, { loras, output, ...mapped }: InputMap): string | undefined {
  for (const [field, targets = []] of Object.entries(mapped)) {
    for (const target of targets) {
      const [id, name] = split(target);
      const node = workflow[id];
      if (!node) return `has no node ${id}, where ${field} should go`;
      if (!(name in node.inputs)) {
        return `has no input "${name}" at node ${id} (${node.class_type}), where ${field} should go`;
      }
    }
  }
  for (const id of [loras, output]) {
    if (id !== undefined && !workflow[id]) return `has no node ${id}`;
  }
  const unseen = unseenOutput(workflow, output);
  if (unseen === undefined) return undefined;
  return `gives its image at node ${unseen} (${websocketOnly}), which keeps none: use SaveImage or PreviewImage`;
}

/** The node whose images are in nobody's history. */
const websocketOnly = "SaveImageWebsocket";

/** The node that gives the image, where that leaves nothing to fetch; of several, any other may do. */
function unseenOutput(workflow: Workflow, output: string | undefined): string | undefined {
  const ends = endsOf(workflow, output);
  const all = ends.every((id) => workflow[id]?.class_type === websocketOnly);
  return all ? ends[0] : undefined;
}

/** The nodes that may give the image: the one that is meant, or all that no other takes from. */
function endsOf(workflow: Workflow, output: string | undefined): string[] {
  if (output !== undefined) return [output];
  const links = Object.values(workflow).flatMap(({ inputs }) =>
    Object.values(inputs).filter(isLink),
  );
  const taken = new Set(links.map(([id]) => String(id)));
  return Object.keys(workflow).filter((id) => !taken.has(id));
}

/** An input that no node has: ComfyUI looks at it only to see whether a node is to do its work again. */
const freshness = "lintel_prompt";

/**
 * The workflow, whose image is put into a file of its own. One that was made before is else
 * answered with that file's name, and the file may be gone by now, or be another's picture:
 * in a folder that somebody has tidied, names begin anew.
 * @param prompt the prompt's id
 */
export function savedAnew(
  workflow: Workflow,
  output: string | undefined,
  prompt: string,
): Workflow {
  const saved = { ...workflow };
  for (const id of endsOf(workflow, output)) {
    const node = workflow[id];
    if (node) saved[id] = { ...node, inputs: { ...node.inputs, [freshness]: prompt } };
  }
  return saved;
}

/** The workflow with values in its inputs, and LoRAs. */
export function fillWorkflow(
  workflow: Workflow,
  map: InputMap,
  values: Values,
  loras: readonly PlacedLora[] = [],
): Workflow {
  const filled = structuredClone(workflow);
  for (const [field, value] of Object.entries(values)) {
    if (value === undefined) continue;
    for (const target of map[field as MappedField] ?? []) {
      const [id, name] = split(target);
      const node = filled[id];
      if (node) node.inputs[name] = inputOf(field as MappedField, name, value);
    }
  }
  if (map.loras !== undefined) placeLoras(filled, map.loras, loras);
  return filled;
}

/** Inputs called `cfg` are samplers' and guiders'; what else takes guidance, such as Flux, knows any number. */
function inputOf(field: MappedField, input: string, value: string | number): string | number {
  return field === "guidance_scale" && input === "cfg" ? cfgOf(Number(value)) : value;
}

/** What ids of the nodes begin with that callers' LoRAs are loaded by, and no operator's own. */
const loraNode = "lintel-lora-";

/** Puts LoRAs in a row between a node and all that take its model and text encoder. */
function placeLoras(workflow: Workflow, source: string, loras: readonly PlacedLora[]): void {
  const links = Object.values(workflow).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([name, value]) =>
      isLink(value) && String(value[0]) === source && value[1] < 2
        ? [{ inputs, name, output: value[1] }]
        : [],
    ),
  );
  const withText = links.some(({ output }) => output === 1);
  let last = source;
  for (const [i, { file, weight }] of loras.entries()) {
    const id = `${loraNode}${i + 1}`;
    const model = { lora_name: file, strength_model: weight, model: [last, 0] };
    workflow[id] = withText
      ? { class_type: "LoraLoader", inputs: { ...model, strength_clip: weight, clip: [last, 1] } }
      : { class_type: "LoraLoaderModelOnly", inputs: model };
    last = id;
  }
  for (const { inputs, name, output } of links) inputs[name] = [last, output];
}

/** What a workflow has itself where numbers of requests go: the model's defaults. */
export function defaultsOf(workflow: Workflow, map: InputMap): Record<string, number> {
  const defaults: Record<string, number> = {};
  for (const field of ["width", "height", "guidance_scale", "num_inference_steps"] as const) {
    const [id, name] = split(map[field]?.[0] ?? "");
    const value = workflow[id]?.inputs[name];
    if (typeof value === "number") defaults[field] = value;
  }
  return defaults;
}

/** The field that goes into an input, if one does; into nodes of callers' LoRAs only `loras` does. */
export function fieldOf(
  map: InputMap,
  node: string,
  input: string,
): MappedField | "loras" | undefined {
  const { loras, output, ...mapped } = map;
  if (loras !== undefined && node.startsWith(loraNode)) return "loras";
  const target = `${node}.${input}`;
  const found = Object.entries(mapped).find(([, targets]) => targets?.includes(target));
  return found?.[0] as MappedField | undefined;
}

/** Nodes that tell their steps: samplers, if there are any. */
export function samplersOf(workflow: Workflow): string[] {
  return Object.entries(workflow)
    .filter(([, { class_type: type }]) => /^(?:KSampler|SamplerCustom)/.test(type))
    .map(([id]) => id);
}

function split(target: string): [node: string, input: string] {
  const dot = target.indexOf(".");
  return [target.slice(0, dot), target.slice(dot + 1)];
}

function isLink(value: unknown): value is [string | number, number] {
  return Array.isArray(value) && value.length === 2 && typeof value[1] === "number";
}
