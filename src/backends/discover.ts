/** Finds model servers at their usual addresses on this machine. */
import type { CallSignal } from "../core/cancellation.js";
import { listens } from "../listens.js";
import { type ComfyuiConfig, comfyuiSchema } from "./comfyui/schema.js";
import type { Site } from "./image-server.js";
import type { DialectName } from "./openai/dialects.js";
import { type OpenaiConfig, openaiSchema } from "./openai/schema.js";
import { type SdapiConfig, sdapiSchema } from "./sdapi/schema.js";

/** Where a server may be. */
export interface Candidate {
  readonly type: keyof typeof kinds;
  /** Name of the backend that it would become. */
  readonly name: string;
  /** Scheme, host and port. */
  readonly url: string;
  /** Of a server of the type `openai`, where its address tells. Default: it is found out. */
  readonly dialect?: DialectName;
}

/** How a server of each kind is told from others, and its entry. Its code is loaded where one listens. */
const kinds = {
  openai: {
    schema: openaiSchema,
    async isThere({ transport, at }: Site, signal: CallSignal) {
      const { chats, listModels } = await import("./openai/listed.js");
      return (await listModels(transport, at("/v1/models"), signal)).some(chats);
    },
  },
  sdapi: {
    schema: sdapiSchema,
    async isThere(site: Site, signal: CallSignal) {
      const { listModels, readCheckpoints } = await import("./sdapi/inventory.js");
      return readCheckpoints(await listModels(site, signal)).length > 0;
    },
  },
  comfyui: {
    schema: comfyuiSchema,
    async isThere(site: Site, signal: CallSignal) {
      const { readInventory } = await import("./comfyui/inventory.js");
      return (await readInventory(site, signal)).checkpoints.length > 0;
    },
  },
};

/** The usual addresses. llama.cpp's, 8080, is Lintel's own; stable-diffusion.cpp's, 1234, is LM Studio's too. */
export const usualAddresses: readonly Candidate[] = [
  { type: "openai", name: "ollama", url: "http://127.0.0.1:11434", dialect: "ollama" },
  { type: "openai", name: "lmstudio", url: "http://127.0.0.1:1234", dialect: "lmstudio" },
  // Many things listen on 8000, and SGLang can: the server itself says what it is.
  { type: "openai", name: "vllm", url: "http://127.0.0.1:8000" },
  { type: "sdapi", name: "webui", url: "http://127.0.0.1:7860" },
  { type: "comfyui", name: "comfyui", url: "http://127.0.0.1:8188" },
];

/** The entry of a server that was found. */
export type Found = OpenaiConfig | SdapiConfig | ComfyuiConfig;

/**
 * Asks all candidates at once what they have. Whoever does not answer in time, or has
 * neither a model that chats nor a checkpoint, is not there. Never throws.
 * @param timeoutMs how long to wait for a connection, and then for the answer, milliseconds
 * @returns complete entries of the configuration
 */
export async function discover(
  timeoutMs: number,
  candidates: readonly Candidate[] = usualAddresses,
): Promise<Found[]> {
  const found = await Promise.all(candidates.map((candidate) => ask(candidate, timeoutMs)));
  return found.filter((entry) => entry !== undefined);
}

async function ask(candidate: Candidate, timeoutMs: number): Promise<Found | undefined> {
  const { type, url } = candidate;
  if ((await listens(new URL(url), timeoutMs)) !== "yes") return undefined;
  // Loaded for those that are there: the HTTP client is a tenth of the start, and mostly nobody is.
  const { Transport } = await import("./http/transport.js");
  const transport = new Transport({
    origin: url,
    headers: {},
    timeouts: { connect: timeoutMs, first: timeoutMs, idle: timeoutMs },
    connections: 2,
  });
  const { schema, isThere } = kinds[type];
  const site = { transport, at: (path: string) => path };
  try {
    const there = await isThere(site, AbortSignal.timeout(timeoutMs));
    return there ? schema.parse(candidate) : undefined;
  } catch {
    return undefined;
  } finally {
    await transport.close();
  }
}
