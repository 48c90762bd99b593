/** A server's list of its models. */

import type { CallSignal } from "../../core/cancellation.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { ask } from "../http/ask.js";
import { saidIn } from "../http/error-body.js";
import { nonsense } from "../http/failure.js";
import { string, uint32 } from "../http/json.js";
import type { Transport } from "../http/transport.js";
import { contextIn } from "./context-length.js";
import { isOfImages } from "./images/profile.js";

/** Longest time that a server may take to list its models, milliseconds. */
export const listTimeout = 10_000;

/** An entry of a server's list. */
export interface Listed {
  readonly id: string;
  /** Unix seconds; 0 if not said. */
  readonly created: number;
  readonly ownedBy: string;
  /** Whether it makes images, where the server says so; absent: it does not say. */
  readonly draws?: boolean;
  /** Whether its answers may have pictures beside text; absent: the server does not say. */
  readonly pictures?: boolean;
  /** Request fields that it knows, by their names; absent: the server does not say. */
  readonly fields?: ReadonlySet<string>;
  /** What its prompts may have: `text`, `image`, `file`, `audio`, `video`; absent: the server does not say. */
  readonly takes?: readonly string[];
  /** Most tokens of a conversation with its answer; absent: the server does not say. */
  readonly contextLength?: number;
}

/** A model of the configuration, of which the server has said nothing. */
export const unlisted = (id: string): Listed => ({ id, created: 0, ownedBy: "" });

/** What models are called that servers list beside the ones that chat. */
const noChat =
  /embed|rerank|whisper|moderation|minilm|paraphrase-multilingual|(?:^|[-/_:])(?:tts|bge|clip)(?:[-_:]|$)/i;

/** Whether a model chats, as far as its name tells. */
export const chats = ({ id }: Listed): boolean => !noChat.test(id) && !isOfImages(id);

/**
 * Reads the answer to `GET /models`. Entries that are none don't spoil the others.
 * @throws LintelError `upstream_failed` if it is not a list of models
 */
export const readModels = (text: string): Listed[] => listedIn(parseJson(text));

function listedIn(list: unknown): Listed[] {
  // Together AI's is bare; an empty one may be of anything.
  const bare = Array.isArray(list) && list.length > 0 ? list : undefined;
  const data = isObject(list) ? (cohereModels(list) ?? list.data) : bare;
  // Ollama without a model says `"data": null`.
  if (data === null && isObject(list) && list.object === "list") return [];
  if (!Array.isArray(data)) {
    const said = saidIn(list);
    const cause = said === "" ? undefined : new Error(said);
    throw nonsense("answered without a list of models", cause);
  }
  const listed = new Map<string, Listed>();
  for (const entry of data) {
    const id = isObject(entry) ? string(entry.id) : "";
    if (!isObject(entry) || id === "") continue;
    listed.set(id, {
      id,
      created: uint32(entry.created),
      ownedBy: string(entry.owned_by),
      // SGLang's, of diffusion models: T2I, I2I, T2V…
      ...(typeof entry.task_type === "string" && { draws: /t2i|ti2i/i.test(entry.task_type) }),
      // Together AI's and Venice's, of what each is for.
      ...(entry.type === "image" && { draws: true }),
      ...(otherUses.test(string(entry.type)) && { draws: false }),
      // OpenRouter's.
      ...givenBy(entry),
      ...(Array.isArray(entry.supported_parameters) && {
        fields: new Set(entry.supported_parameters.map(string)),
      }),
      ...contextIn(entry),
    });
  }
  if (listed.size === 0 && data.length > 0) {
    throw nonsense("answered with a list of something else than models");
  }
  return [...listed.values()];
}

/** What Together AI and Venice call models that neither chat nor draw. */
const otherUses =
  /video|^(?:embedding|moderation|rerank|audio|transcribe|tts|asr|music|upscale|inpaint|decision)$/i;

function givenBy({ architecture }: JsonObject): Pick<Listed, "draws" | "pictures" | "takes"> {
  if (!isObject(architecture)) return {};
  const { output_modalities: gives, input_modalities: all } = architecture;
  const takes = Array.isArray(all) && all.includes("text") ? all.map(string) : undefined;
  if (!Array.isArray(gives)) return {};
  const pictures = gives.includes("image");
  if (pictures && gives.length === 1) return { draws: true };
  return { pictures, ...(takes && { takes }) };
}

/** Cohere's list, also on its OpenAI paths: names, and what each is for. No other's `models` have `endpoints`. */
function cohereModels({ models }: JsonObject): unknown[] | undefined {
  const told = Array.isArray(models) ? models.filter(hasEndpoints) : [];
  if (told.length === 0) return undefined;
  const chatting = told.filter(({ endpoints }) => endpoints.includes("chat"));
  return chatting.map(({ name, context_length }) => ({
    id: name,
    owned_by: "cohere",
    context_length,
  }));
}

const hasEndpoints = (model: unknown): model is JsonObject & { endpoints: unknown[] } =>
  isObject(model) && Array.isArray(model.endpoints);

/** Most pages of a list. */
const mostPages = 20;

/**
 * Asks a server for its models: all pages of Cohere's, which has twenty on each.
 * @throws LintelError as the server can't be reached, refuses, or answers something else
 */
export async function listModels(
  transport: Transport,
  path: string,
  signal: CallSignal,
): Promise<Listed[]> {
  const listed = new Map<string, Listed>();
  let query = "";
  for (let page = 0; page < mostPages; page++) {
    const asked = { method: "GET", path: path + query, signal, timeout: listTimeout } as const;
    const request = { ...asked, aside: true };
    const list = parseJson((await ask(transport, request)).toString("utf8"));
    for (const model of listedIn(list)) listed.set(model.id, model);
    const token = isObject(list) ? string(list.next_page_token) : "";
    const next = `${path.includes("?") ? "&" : "?"}page_token=${encodeURIComponent(token)}`;
    if (token === "" || next === query) break;
    query = next;
  }
  return [...listed.values()];
}
