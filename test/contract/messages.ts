/** Anthropic's Messages API as a way in. */
import { type MessageEvent, messageEvents } from "../doors/message-events.js";
import type { Case, ChatOutcome, Failure } from "./cases.js";
import { failureOf, type Json, post, warningOf } from "./wire.js";

type Chat = (base: string, row: Case<ChatOutcome>) => Promise<ChatOutcome>;

/** What it calls the contract's fields. */
const names: Readonly<Record<string, string>> = {
  stop: "stop_sequences",
  reasoning_effort: "output_config.effort",
  user: "metadata.user_id",
};

const asRequest = ({ stop, reasoning_effort: effort, user, ...request }: Json): object => ({
  thinking: { type: "adaptive" },
  ...request,
  ...(stop && { stop_sequences: stop }),
  ...(effort && { output_config: { effort } }),
  ...(user && { metadata: { user_id: user } }),
});

/** The contract's names of fields. */
const ours = (field: string) => Object.keys(names).find((name) => names[name] === field) ?? field;

/** A failure with the contract's names of fields. */
function inOurNames({ error }: { error: Failure }): { error: Failure } {
  return { error: { ...error, ...(error.fields && { fields: error.fields.map(ours) }) } };
}

const reasons: Readonly<Record<string, string>> = {
  ...{ end_turn: "stop", stop_sequence: "stop", max_tokens: "length" },
};

/** Why it ended. @throws Error where a text is named beside another reason, or none beside this */
function endOf({ stop_reason: reason, stop_sequence: stop }: Json) {
  if ((reason === "stop_sequence") !== (stop !== null)) throw new Error(`${reason}, ${stop}`);
  return { finishReason: reasons[reason] as string, stopSequence: stop ?? "" };
}

const totalOf = (usage: Json) =>
  usage.input_tokens +
  usage.cache_read_input_tokens +
  usage.cache_creation_input_tokens +
  usage.output_tokens;

/** An answer in its own JSON. */
export const chatOverMessages: Chat = async (base, { request, token }) => {
  const response = await post(base, "/v1/messages", asRequest(request), token);
  const json: Json = await response.json();
  if (!response.ok) return failed(json, response);
  const said = (type: string) =>
    json.content.map((block: Json) => (block.type === type ? block[type] : "")).join("");
  return {
    ...{ text: said("text"), thoughts: said("thinking"), model: json.model },
    ...endOf(json),
    totalTokens: totalOf(json.usage),
    warning: warningOf(json.warnings, ours) as string,
  };
};

/** The same in events. */
export const chatOverMessageEvents: Chat = async (base, { request, token }) => {
  const body = { ...asRequest(request), stream: true };
  const response = await post(base, "/v1/messages", body, token);
  if (!response.ok) return failed(await response.json(), response);
  const events = await messageEvents(response);
  const said = (type: string) => events.map(({ delta }) => delta?.[type] ?? "").join("");
  const find = (type: string): MessageEvent => events.find((it) => it.type === type) ?? {};
  const { error } = find("error");
  if (error) return { text: said("text"), ...failureOf({ error, detail: {} }) };
  const last = find("message_delta");
  return {
    ...{ text: said("text"), thoughts: said("thinking") },
    model: find("message_start").message.model,
    ...endOf(last.delta),
    totalTokens: totalOf(last.usage),
    warning: warningOf(last.warnings, ours) as string,
  };
};

function failed(json: Json, response: Response): { error: Failure } {
  if (json.type !== "error" || json.request_id !== response.headers.get("x-request-id")) {
    throw new Error(`not Anthropic's form of an error: ${JSON.stringify(json)}`);
  }
  return inOurNames(failureOf(json, response));
}
