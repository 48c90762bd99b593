/** The kind `openai`: OpenAI-compatible model servers. */

import { unlessAborted } from "../../core/abort.js";
import type { Backend } from "../../core/backend.js";
import type { CallSignal } from "../../core/cancellation.js";
import { bodyOf } from "../http/ask.js";
import { clientTlsOf } from "../http/client-tls.js";
import { Guard } from "../http/guard.js";
import { byLowerName, Transport } from "../http/transport.js";
import type { BackendContext } from "../kind.js";
import { addressOf } from "./address.js";
import { chatOn, complete } from "./chat.js";
import { countTokens } from "./count.js";
import { dialectOf } from "./dialects.js";
import { generateImages, type ImageServerParts } from "./images/generate.js";
import { hostsOf } from "./images/services.js";
import { listModels, listTimeout, readModels } from "./listed.js";
import { Models } from "./models.js";
import type { OpenaiConfig } from "./schema.js";

/**
 * What a server answers that chats well and lists nothing, such as an Azure deployment or a small
 * proxy; 401 and 403 to a key that may chat and not list. Whether it may is found out by calls.
 */
const lacksList: ReadonlySet<number> = new Set([401, 403, 404, 405]);

/**
 * A backend for one server that speaks OpenAI's chat completions. It begins to read the server's list of models at once.
 * @throws Error if a certificate or its key can't be used
 */
export function createOpenaiBackend(config: OpenaiConfig, { log }: BackendContext): Backend {
  const address = addressOf(config.url);
  const url = new URL(config.url);
  const headers = {
    ...(config.api_key && { authorization: `Bearer ${config.api_key}` }),
    ...byLowerName(config.headers),
  };
  const tls = clientTlsOf(config, log);
  const transport = new Transport({
    origin: address.origin,
    headers,
    timeouts: { ...config.timeouts, first: config.timeouts.first_token },
    connections: config.connections,
    tls,
  });
  const { listed, images, counts } = dialectOf(config.dialect, url);
  const listPath = address.at("/models", listed);
  const list = (signal: CallSignal) => listModels(transport, listPath, signal);
  const models = new Models({
    backend: config.name,
    names: config.models,
    imageNames: config.image_models,
    maxTokens: config.max_tokens,
    auto: config.dialect === "auto",
    refresh: config.refresh,
    log,
    list,
    dialect: (listed) => dialectOf(config.dialect, url, listed),
  });
  const guard = new Guard({
    own: [address.origin],
    allow: [...config.allow_hosts, ...hostsOf(images)],
    connectTimeout: config.timeouts.connect,
    tls,
  });
  const server: ImageServerParts = {
    transport,
    address,
    models,
    cap: config.max_tokens,
    tags: config.think_tags,
    passUser: config.pass_user,
    sessionHeader: config.session_header,
    fetching: { guard, base: config.url, headers },
    patience: config.timeouts.first_token,
  };

  return {
    name: config.name,
    models: () => models.list(),
    incomplete: () => models.incomplete,
    fullName(name) {
      const { tag } = models.dialect;
      // A colon before the last slash is a registry's port.
      const tagged = name.slice(name.lastIndexOf("/") + 1).includes(":");
      return tag === undefined || tagged ? undefined : name + tag;
    },
    ready: (_model, signal) => unlessAborted(models.ready(), signal),
    handlers: {
      chat: chatOn(server),
      complete: (call) => complete(server, call),
      ...(counts && { countTokens: (call) => countTokens(server, call) }),
      streamTextToImage: (call) => generateImages(server, call),
    },
    async health(signal) {
      const path = listPath;
      const request = { method: "GET", path, signal, timeout: listTimeout, aside: true } as const;
      const answer = await transport.send(request);
      if (config.models && lacksList.has(answer.status)) return answer.drain();
      const body = await bodyOf(answer, signal);
      const text = body.toString("utf8");
      if (!config.models) readModels(text);
      else hearModels(text, models);
    },
    async close() {
      models.close();
      await Promise.all([transport.close(), guard.close()]);
    },
  };
}

/** Nobody needs to understand a list that is not served. */
function hearModels(text: string, models: Models): void {
  try {
    models.heard(readModels(text));
  } catch {
    // It has another form, or says nothing of models.
  }
}
