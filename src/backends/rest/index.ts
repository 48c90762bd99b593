/** The kind `rest`: another gateway of this contract, over its REST operations. */
import { type Model, State } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../core/backend.js";
import { fromConfiguration } from "../configured-model.js";
import { toldUser } from "../end-user.js";
import { clientTlsOf } from "../http/client-tls.js";
import { Guard } from "../http/guard.js";
import { byLowerName, Transport } from "../http/transport.js";
import type { BackendContext } from "../kind.js";
import { chatOn, complete } from "./chat.js";
import type { Gateway } from "./gateway.js";
import { generateImages } from "./images.js";
import type { RestConfig } from "./schema.js";

/** Longest time that a gateway may take to answer anything at all, milliseconds. */
const healthTimeout = 10_000;

/** A backend on one gateway. @throws Error if a certificate or its key can't be used */
export function createRestBackend(config: RestConfig, { log }: BackendContext): Backend {
  const { origin, path } = addressOf(config.url);
  const headers = {
    authorization: `Bearer ${config.token}`,
    ...byLowerName(config.headers),
  };
  const { connect, first_token: first, idle } = config.timeouts;
  const tls = clientTlsOf(config, log);
  const transport = new Transport({
    origin,
    headers,
    timeouts: { connect, first, idle },
    connections: config.connections,
    tls,
  });
  const own = [origin];
  const guard = new Guard({ own, allow: config.allow_hosts, connectTimeout: connect, tls });
  const models = config.models.map(modelOf);
  const gateway: Gateway = {
    transport,
    at: (operation) => `${path}${operation}`,
    fetching: { guard, base: `${origin}${path}/`, headers },
    checksSafety: (id) => models.some((m) => m.id === id && m.supports.includes("safety_check")),
    userOf: (user) => toldUser(user, config.pass_user),
  };
  const has = (task: "chat" | "image") => config.models.some((model) => model.task === task);
  return {
    name: config.name,
    models: () => models,
    handlers: {
      ...(has("chat") && {
        chat: chatOn(gateway),
        complete: (call) => complete(gateway, call),
      }),
      ...(has("image") && { streamTextToImage: (call) => generateImages(gateway, call) }),
    },
    /** The contract has nothing to ask for it: whoever answers at all is there. */
    async health(signal) {
      const asked = { method: "GET", path: `${path}/`, signal, timeout: healthTimeout } as const;
      (await transport.send({ ...asked, aside: true })).drain();
    },
    async close() {
      await Promise.all([transport.close(), guard.close()]);
    },
  };
}

/** Previews are asked for whatever the model: a gateway that has none sends none. */
function modelOf(entry: RestConfig["models"][number]): Model {
  const model = fromConfiguration(entry, State.READY);
  return entry.task === "chat"
    ? model
    : { ...model, supports: [...new Set([...model.supports, "include_previews"])] };
}

/** Reads an address as people have it: with a slash at its end, or copied with an operation. */
function addressOf(text: string): { readonly origin: string; readonly path: string } {
  const { origin, pathname } = new URL(text);
  return { origin, path: pathname.replace(/\/+(?:(?:llm|text-to-image)\/*)?$/, "") };
}
