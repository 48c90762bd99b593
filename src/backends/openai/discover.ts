/** Finds model servers at their usual addresses on this machine. */
import { listens } from "../../listens.js";
import { addressOf } from "./address.js";
import type { DialectName } from "./dialect.js";
import { chats } from "./models.js";
import { type OpenaiConfig, openaiSchema } from "./schema.js";

/** Where a server may be. */
export interface Candidate {
  /** Name of the backend that it would become. */
  readonly name: string;
  /** Scheme, host and port. */
  readonly url: string;
  readonly dialect: DialectName | "auto";
}

/** The usual addresses. llama.cpp's, 8080, is Lintel's own. */
export const usualAddresses: readonly Candidate[] = [
  { name: "ollama", url: "http://127.0.0.1:11434", dialect: "ollama" },
  { name: "lmstudio", url: "http://127.0.0.1:1234", dialect: "lmstudio" },
  // Many things listen on 8000, and SGLang can: the server itself says what it is.
  { name: "vllm", url: "http://127.0.0.1:8000", dialect: "auto" },
];

/**
 * Asks all candidates at once for their models. Whoever does not answer in
 * time, or not with a list of models of which one chats, is not there. Never throws.
 * @param timeoutMs how long to wait for a connection, and then for the answer, milliseconds
 * @returns complete entries of the configuration
 */
export async function discover(
  timeoutMs: number,
  candidates: readonly Candidate[] = usualAddresses,
): Promise<OpenaiConfig[]> {
  const found = await Promise.all(candidates.map((candidate) => ask(candidate, timeoutMs)));
  return found.filter((entry) => entry !== undefined);
}

async function ask(
  { name, url, dialect }: Candidate,
  timeoutMs: number,
): Promise<OpenaiConfig | undefined> {
  if ((await listens(new URL(url), timeoutMs)) !== "yes") return undefined;
  // Loaded for those that are there: the HTTP client is a tenth of the start, and mostly nobody is.
  const { listModels } = await import("./index.js");
  const { Transport } = await import("../http/transport.js");
  const config = openaiSchema.parse({ type: "openai", name, url, dialect });
  const address = addressOf(url);
  const transport = new Transport({
    ...config,
    origin: address.origin,
    timeouts: { ...config.timeouts, first: config.timeouts.first_token },
  });
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const listed = await listModels(transport, address.at("/models"), signal);
    return listed.some(chats) ? config : undefined;
  } catch {
    return undefined;
  } finally {
    await transport.close();
  }
}
