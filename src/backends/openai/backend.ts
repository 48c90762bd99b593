/** The backend for OpenAI-compatible model servers. */
import type { Backend } from "../../core/backend.js";
import type { BackendContext, BackendKind } from "../kind.js";
import { addressOf } from "./address.js";
import { chat, complete, type Server } from "./chat.js";
import { type OpenaiConfig, openaiSchema } from "./config.js";
import { dialectOf } from "./dialect.js";
import { failureOf } from "./failure.js";
import { type Listed, Models, readModels } from "./models.js";
import { Transport } from "./transport.js";

/** Longest time that a server may take to list its models, milliseconds. */
const listTimeout = 10_000;
/** Most bytes of a list of models. */
const listLimit = 16 * 1024 * 1024;

/** The kind `openai`: any server that speaks OpenAI's chat completions. */
export const openaiKind: BackendKind<typeof openaiSchema> = {
  schema: openaiSchema,
  create: createOpenaiBackend,
};

/** A backend for one server. It begins to read the server's list of models at once. */
export function createOpenaiBackend(config: OpenaiConfig, { log }: BackendContext): Backend {
  const address = addressOf(config.url);
  const url = new URL(config.url);
  const transport = new Transport({
    origin: address.origin,
    headers: {
      ...(config.api_key && { authorization: `Bearer ${config.api_key}` }),
      ...Object.fromEntries(Object.entries(config.headers).map(([k, v]) => [k.toLowerCase(), v])),
    },
    timeouts: config.timeouts,
    connections: config.connections,
  });
  const list = (signal: AbortSignal) => listModels(transport, address.at("/models"), signal);
  const models = new Models({
    names: config.models,
    maxTokens: config.max_tokens,
    refresh: config.refresh,
    log,
    list,
    dialect: (ownedBy) => dialectOf(config.dialect, url, ownedBy),
  });
  const server: Server = { transport, address, models, cap: config.max_tokens };

  return {
    name: config.name,
    models: () => models.list(),
    ready: (_model, signal) => whileWanted(models.ready(), signal),
    handlers: {
      chat: (call) => chat(server, call),
      complete: (call) => complete(server, call),
    },
    async health(signal) {
      await list(signal);
    },
    async close() {
      models.close();
      await transport.close();
    },
  };
}

/**
 * Asks a server for its models.
 * @throws LintelError as the server can't be reached, refuses, or answers something else
 */
export async function listModels(
  transport: Transport,
  path: string,
  signal: AbortSignal,
): Promise<Listed[]> {
  const answer = await transport.send({ method: "GET", path, signal, timeout: listTimeout });
  const text = await answer.text(listLimit);
  const { status } = answer;
  if (status < 200 || status >= 300) throw failureOf(status, text, undefined);
  return readModels(text);
}

/** Waits for something as long as somebody wants it. */
function whileWanted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    void wait.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    if (signal.aborted) leave();
  });
}
