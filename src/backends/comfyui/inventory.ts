/** What a ComfyUI has: its nodes say which files they can be given. */
import type { CallSignal } from "../../core/cancellation.js";
import { isObject } from "../../core/json.js";
import { askJson } from "../http/ask.js";
import { nonsense } from "../http/failure.js";
import type { Site } from "../image-server.js";

/** Names of files, as ComfyUI has them. */
export interface Inventory {
  readonly checkpoints: readonly string[];
  /** Absent: it has no node for LoRAs. */
  readonly loras: readonly string[] | undefined;
}

/** Longest time for a list, milliseconds. */
const listTimeout = 10_000;

/**
 * Asks a server for all that it has.
 * @throws LintelError as the server can't be reached, refuses, or answers something else
 */
export async function readInventory(site: Site, signal: CallSignal): Promise<Inventory> {
  const [checkpoints, loras] = await Promise.all([
    choices(site, "CheckpointLoaderSimple", "ckpt_name", signal),
    readLoras(site, signal),
  ]);
  if (!checkpoints) throw nonsense("answered without its checkpoints");
  return { checkpoints, loras };
}

/**
 * The files of LoRAs; `undefined` where there is no node for them.
 * @param connect longest time to connect, milliseconds, where it is a call's own
 */
export function readLoras(
  site: Site,
  signal: CallSignal,
  connect?: number,
): Promise<string[] | undefined> {
  return choices(site, "LoraLoader", "lora_name", signal, connect);
}

/** What an input of a node can be: a list, or since 2025 `["COMBO", {options: […]}]`. */
async function choices(
  { transport, at }: Site,
  node: string,
  input: string,
  signal: CallSignal,
  connect?: number,
): Promise<string[] | undefined> {
  const request = { method: "GET", path: at(`/object_info/${node}`), signal, connect } as const;
  const answer = await askJson(transport, { ...request, timeout: listTimeout });
  if (!isObject(answer)) throw nonsense("answered without its nodes");
  const info = answer[node];
  const inputs = isObject(info) && isObject(info.input) ? info.input : {};
  const spec = isObject(inputs.required) ? inputs.required[input] : undefined;
  if (!Array.isArray(spec)) return undefined;
  const [list, more] = spec;
  const names: unknown = Array.isArray(list) ? list : isObject(more) ? more.options : undefined;
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : undefined;
}

/** A file's name for callers: without its ending, folders by slashes. */
export const nameOf = (file: string): string =>
  file.replaceAll("\\", "/").replace(/\.(?:safetensors|sft|ckpt|pt|pth|bin|gguf)$/i, "");

/** The file that a caller or an operator means. */
export const fileOf = (files: readonly string[], name: string): string | undefined =>
  files.find((file) => file === name) ?? files.find((file) => nameOf(file) === name);
