/** ComfyUI's queue, and what it tells of prompts that have left it. */
import { timeLimit } from "../../core/abort.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { ask, askJson } from "../http/ask.js";
import { imageLimit } from "../http/image.js";
import { string } from "../http/json.js";
import type { Site } from "../image-server.js";
import { outputsIn } from "./history.js";

/** Longest time for an answer that is not an image, milliseconds. */
export const answerTimeout = 30_000;

/** An entry of the queue: `[number, id, …]`. A lower number is served before. */
interface Entry {
  readonly number: number;
  readonly id: string;
}

/** What runs, and what waits. */
export async function queueOf(
  site: Site,
): Promise<{ readonly running: readonly Entry[]; readonly pending: readonly Entry[] }> {
  const answer = await get(site, "/queue");
  return { running: entries(answer.queue_running), pending: entries(answer.queue_pending) };
}

/** The outputs of a prompt; `undefined`: it is not done. @throws LintelError as it failed */
export async function outputsOf(site: Site, id: string): Promise<JsonObject | undefined> {
  return outputsIn((await get(site, `/history/${encodeURIComponent(id)}`))[id]);
}

/** Takes a prompt out of the queue, or interrupts it. @returns `true` once that is done */
export async function takeBack(site: Site, id: string): Promise<true> {
  await post(site, "/queue", { delete: [id] });
  // Without a look an older server would interrupt whatever runs: it does not read the id.
  const { running } = await queueOf(site);
  if (running.some((entry) => entry.id === id)) await post(site, "/interrupt", { prompt_id: id });
  return true;
}

async function get({ transport, at }: Site, path: string): Promise<JsonObject> {
  const signal = timeLimit(answerTimeout);
  const request = { method: "GET", path: at(path), signal, timeout: 0 } as const;
  const value = await askJson(transport, request, imageLimit);
  return isObject(value) ? value : {};
}

async function post({ transport, at }: Site, path: string, body: object): Promise<void> {
  const signal = timeLimit(answerTimeout);
  const request = { method: "POST", path: at(path), body: JSON.stringify(body), signal } as const;
  await ask(transport, { ...request, timeout: 0 });
}

function entries(list: unknown): Entry[] {
  if (!Array.isArray(list)) return [];
  return list
    .filter(Array.isArray)
    .map(([number, id]) => ({ number: Number(number), id: string(id) }));
}
