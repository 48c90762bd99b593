/** Finds model servers at their usual addresses on this machine. */
import { listens } from "../http/listens.js";
import { addressOf } from "./address.js";
import { type OpenaiConfig, openaiSchema } from "./config.js";
import type { DialectName } from "./dialect.js";
import { chats } from "./models.js";

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
 * @param timeoutMs how long to wait for a connection, and then for the answer, milliseconds
 */
export async function discover(
  timeoutMs = 300,
  candidates: readonly Candidate[] = usualAddresses,
): Promise<Found[]> {
  const found = await Promise.all(candidates.map((candidate) => ask(candidate, timeoutMs)));
  return found.filter((entry) => entry !== undefined);
}

async function ask(candidate: Candidate, timeoutMs: number): Promise<Found | undefined> {
  const { name, url, dialect } = candidate;
  if (!(await listens(new URL(url), timeoutMs))) return undefined;
  // Loaded for those that are there: the HTTP client is a tenth of the start, and mostly nobody is.
  const { listModels } = await import("./backend.js");
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
    const models = listed.filter(chats);
    if (models.length === 0) return undefined;
    return { candidate, config, models: models.map(({ id }) => id) };
  } catch {
    return undefined;
  } finally {
    await transport.close();
  }
}
