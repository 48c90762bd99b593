/** Finds model servers at their usual addresses on this machine. */
import { addressOf } from "./address.js";
import { listModels } from "./backend.js";
import { type OpenaiConfig, openaiSchema } from "./config.js";
import type { DialectName } from "./dialect.js";
import { chats } from "./models.js";
import { Transport } from "./transport.js";

/** Where a server may be. */
export interface Candidate {
  /** Name of the backend that it would become. */
  readonly name: string;
  /** As people know it. */
  readonly title: string;
  /** Scheme, host and port. */
  readonly url: string;
  readonly dialect: DialectName | "auto";
}

/** A server that answered. */
export interface Found {
  readonly candidate: Candidate;
  /** A complete entry of the configuration for it. */
  readonly config: OpenaiConfig;
  /** Names of the models that it listed and that chat, at least one. */
  readonly models: readonly string[];
}

/** The usual addresses. llama.cpp's, 8080, is Lintel's own. */
export const usualAddresses: readonly Candidate[] = [
  { name: "ollama", title: "Ollama", url: "http://127.0.0.1:11434", dialect: "ollama" },
  { name: "lmstudio", title: "LM Studio", url: "http://127.0.0.1:1234", dialect: "lmstudio" },
  // Many things listen on 8000, and SGLang can: the server itself says what it is.
  { name: "vllm", title: "vLLM", url: "http://127.0.0.1:8000", dialect: "auto" },
];

/**
 * Asks all candidates at once for their models. Whoever does not answer in
 * time, or not with a list of models, is not there. Never throws.
 * @param timeoutMs how long to wait for all of them, milliseconds
 */
export async function discover(
  timeoutMs = 300,
  candidates: readonly Candidate[] = usualAddresses,
): Promise<Found[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  const found = await Promise.all(candidates.map((candidate) => ask(candidate, signal)));
  return found.filter((entry) => entry !== undefined);
}

async function ask(candidate: Candidate, signal: AbortSignal): Promise<Found | undefined> {
  const { name, url, dialect } = candidate;
  const config = openaiSchema.parse({ type: "openai", name, url, dialect });
  const address = addressOf(url);
  const transport = new Transport({ ...config, origin: address.origin });
  try {
    const listed = await listModels(transport, address.at("/models"), signal);
    const models = listed.filter(chats);
    if (models.length === 0) return undefined;
    return { candidate, config, models: models.map(({ id }) => id) };
  } catch {
    return undefined;
  } finally {
    await transport.close();
  }
}
