/** What a server has: checkpoints and LoRAs. */
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import { isObject } from "../../core/json.js";
import { ask, askJson } from "../http/ask.js";
import { nonsense } from "../http/failure.js";
import { string } from "../http/json.js";
import type { Site } from "../image-server.js";
import { type DialectName, dialectOf, dialects } from "./dialect.js";

/** A checkpoint. */
export interface Checkpoint {
  /** Name for callers. */
  readonly id: string;
  /** What the server selects it by. */
  readonly title: string;
  /** Names that an answer may call it by. */
  readonly aliases: readonly string[];
}

/** A LoRA. */
export interface Lora {
  readonly name: string;
  /** Further names that it is known by. */
  readonly alias: string;
  /** Of the file; stable-diffusion.cpp takes it for a name. */
  readonly path: string;
}

/** All that a server has. */
export interface Inventory {
  readonly dialect: DialectName;
  readonly checkpoints: readonly Checkpoint[];
  /** Absent: the server knows no LoRAs. */
  readonly loras: readonly Lora[] | undefined;
  /** Whether it tells which task is running. */
  readonly tasks: boolean;
}

/** Longest time for a list, milliseconds. */
const listTimeout = 10_000;
/** Most bytes of the list of LoRAs: beside each name stands what was noted of its training. */
const loraBytes = 64 * 1024 * 1024;

/**
 * Asks a server for all that it has.
 * @param known the dialect, if it is configured
 * @param before what it had the last time
 * @throws LintelError as the server can't be reached, refuses, or answers something else
 */
export async function readInventory(
  site: Site,
  known: DialectName | undefined,
  before: Inventory | undefined,
  signal: CallSignal,
): Promise<Inventory> {
  const entries = await listModels(site, signal);
  const dialect = known ?? (await findOut(site, dialectOf(entries), before, signal));
  const [loras, tasks] = await Promise.all([
    readLoras(site, before?.loras, signal),
    dialects[dialect].tasks && tellsTasks(site, before?.tasks ?? false, signal),
  ]);
  return { dialect, checkpoints: readCheckpoints(entries), loras, tasks };
}

/** Which server it is, where KoboldCpp lists its checkpoint as stable-diffusion.cpp does. */
async function findOut(
  { transport, at }: Site,
  listed: DialectName,
  before: Inventory | undefined,
  signal: CallSignal,
): Promise<DialectName> {
  if (listed !== "sdcpp") return listed;
  const path = at("/api/extra/version");
  try {
    const answer = await askJson(transport, { method: "GET", path, signal, timeout: listTimeout });
    return isObject(answer) && answer.result === "KoboldCpp" ? "koboldcpp" : "sdcpp";
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return !isAbsent(thrown) && before?.dialect === "koboldcpp" ? "koboldcpp" : "sdcpp";
  }
}

/**
 * Asks a server for its checkpoints.
 * @throws LintelError as `readInventory`
 */
export async function listModels(
  { transport, at }: Site,
  signal: CallSignal,
): Promise<readonly unknown[]> {
  const path = at("/sdapi/v1/sd-models");
  const entries = await askJson(transport, { method: "GET", path, signal, timeout: listTimeout });
  if (!Array.isArray(entries)) throw nonsense("answered without a list of checkpoints");
  return entries;
}

/** @throws LintelError `upstream_failed` if these are no checkpoints */
export function readCheckpoints(entries: readonly unknown[]): Checkpoint[] {
  const found = new Map<string, Checkpoint>();
  for (const entry of entries) {
    if (!isObject(entry) || typeof entry.title !== "string") {
      throw nonsense("answered with a list of something else than checkpoints");
    }
    const name = string(entry.model_name) || entry.title;
    const { title } = entry;
    const file = withoutHash(title);
    // Two files that differ in their endings have one name.
    const id = found.has(name) ? file : name;
    const names = [name, title, file, stem(string(entry.filename))];
    found.set(id, { id, title, aliases: names.filter(Boolean) });
  }
  // stable-diffusion.cpp has no name for a model that it was given in parts.
  found.delete("");
  if (found.size === 0 && entries.length === 1) {
    found.set("default", { id: "default", title: "", aliases: [] });
  }
  return [...found.values()];
}

/** A title as it was before the server loaded the checkpoint for the first time, and knew its hash. */
const withoutHash = (title: string) => title.replace(/ \[[0-9a-f]+\]$/i, "");

/** A file's name without folder and ending. */
const stem = (file: string) => file.replace(/^.*[\\/]/, "").replace(/\.[^.]*$/, "");

/**
 * The LoRAs of a server; `undefined` where it knows none.
 * @param before those that it had the last time, where it can't be asked now
 * @param connect longest time to connect, milliseconds, where it is a call's own
 */
export async function readLoras(
  site: Site,
  before: readonly Lora[] | undefined,
  signal: CallSignal,
  connect?: number,
): Promise<readonly Lora[] | undefined> {
  try {
    const path = site.at("/sdapi/v1/loras");
    const request = { method: "GET", path, signal, connect, timeout: listTimeout } as const;
    const list = await askJson(site.transport, request, loraBytes);
    if (!Array.isArray(list)) return undefined;
    return list.filter(isObject).flatMap((entry) => {
      const [name, alias, path] = [string(entry.name), string(entry.alias), string(entry.path)];
      return name === "" ? [] : [{ name, alias, path }];
    });
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return isAbsent(thrown) ? undefined : before;
  }
}

/**
 * Whether a server says if a task of a given id is the one that is running.
 * @param before whether it did the last time, where it can't be asked now
 */
async function tellsTasks(
  { transport, at }: Site,
  before: boolean,
  signal: CallSignal,
): Promise<boolean> {
  const body = JSON.stringify({ id_task: "none", live_preview: false });
  const path = at("/internal/progress");
  try {
    await ask(transport, { method: "POST", path, body, signal, timeout: listTimeout });
    return true;
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return !isAbsent(thrown) && before;
  }
}

/** Whether a server has no such path. One that is busy with an image may just be too slow to answer. */
const isAbsent = (thrown: unknown): boolean =>
  thrown instanceof LintelError &&
  thrown.code === "upstream_failed" &&
  thrown.retry === "elsewhere";
