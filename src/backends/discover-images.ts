/** Finds image servers at their usual addresses on this machine. */
import { listens } from "../listens.js";
import { type ComfyuiConfig, comfyuiSchema } from "./comfyui/schema.js";
import { type SdapiConfig, sdapiSchema } from "./sdapi/schema.js";

/** Where a server may be. */
export interface ImageCandidate {
  readonly type: "sdapi" | "comfyui";
  /** Name of the backend that it would become. */
  readonly name: string;
  /** Scheme, host and port. */
  readonly url: string;
}

/** The usual addresses. stable-diffusion.cpp's, 1234, is LM Studio's too. */
export const usualImageServers: readonly ImageCandidate[] = [
  { type: "sdapi", name: "webui", url: "http://127.0.0.1:7860" },
  { type: "comfyui", name: "comfyui", url: "http://127.0.0.1:8188" },
];

/**
 * Asks all candidates at once what they have. Whoever does not answer in time,
 * or has no checkpoint, is not there. Never throws.
 * @param timeoutMs how long to wait for a connection, and then for the answer, milliseconds
 * @returns complete entries of the configuration
 */
export async function discoverImageServers(
  timeoutMs: number,
  candidates: readonly ImageCandidate[] = usualImageServers,
): Promise<(SdapiConfig | ComfyuiConfig)[]> {
  const found = await Promise.all(candidates.map((candidate) => ask(candidate, timeoutMs)));
  return found.filter((entry) => entry !== undefined);
}

async function ask(
  { type, name, url }: ImageCandidate,
  timeoutMs: number,
): Promise<SdapiConfig | ComfyuiConfig | undefined> {
  if ((await listens(new URL(url), timeoutMs)) !== "yes") return undefined;
  // Loaded for those that are there: mostly nobody is.
  const { Transport } = await import("./http/transport.js");
  const transport = new Transport({
    origin: url,
    headers: {},
    timeouts: { connect: timeoutMs, first: timeoutMs, idle: timeoutMs },
    connections: 2,
  });
  const site = { transport, at: (path: string) => path };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    if (type === "sdapi") {
      const { listModels, readCheckpoints } = await import("./sdapi/inventory.js");
      if (readCheckpoints(await listModels(site, signal)).length === 0) return undefined;
      return sdapiSchema.parse({ type, name, url });
    }
    const { readInventory } = await import("./comfyui/inventory.js");
    if ((await readInventory(site, signal)).checkpoints.length === 0) return undefined;
    return comfyuiSchema.parse({ type, name, url });
  } catch {
    return undefined;
  } finally {
    await transport.close();
  }
}
