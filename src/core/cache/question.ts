/** What makes two calls the same question. */
import { createHash } from "node:crypto";
import { type LLMRequest, LLMRequestSchema } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call, Caller } from "../call.js";
import { inOneText } from "../chat-messages.js";
import { capOf } from "../parameters.js";
import { bytesOf } from "../print.js";
import { withoutMarks } from "../prompt-marks.js";
import type { CacheSettings, ModelSettings } from "../settings.js";

/** Of what is kept: another form of it has other names. */
const form = 1;

/**
 * Names a question: who asks, where each caller or team has answers of their own, the model and what the
 * operator set for it, and all that the request says but for whom it is asked and what the model server keeps of it. What some backend is told of its headers belongs to it. Whether it is streamed makes no difference.
 */
export function questionOf(call: Call<"chat" | "complete">, scope: CacheSettings["scope"]): string {
  const { attributes, caller, modelSettings, request } = call;
  const asker = scope === "all" ? undefined : askerOf(caller, scope);
  // Under whatever name, for whichever of the caller's users.
  const unmarked = withoutMarks(request);
  const { messages } = unmarked;
  // Of texts up to marks one is made where none is read: so of all texts.
  const told = messages.some(({ parts }) => parts.length > 0) ? messages.map(inOneText) : messages;
  const asked: LLMRequest = {
    ...unmarked,
    messages: told,
    // A tier of service makes no other answer.
    ...{ model: "", user: "", promptCacheKey: "", serviceTier: "" },
  };
  // Names that callers make up for one model.
  const model = isOneModel(modelSettings)
    ? (attributes.countedAs ?? attributes.model)
    : attributes.model;
  const about: unknown[] = [form, asker, model, isCut(call), settingsOf(modelSettings)];
  // What a model server is told besides may let it answer otherwise.
  if (call.passed) about.push([...call.passed].sort());
  return createHash("sha256")
    .update(`${JSON.stringify(about)}\n`)
    .update(bytesOf(LLMRequestSchema, asked))
    .digest("base64url");
}

/** Whose answers these are. A team may be called as a caller is. */
const askerOf = (caller: Caller | undefined, scope: "caller" | "team") =>
  scope === "team" && caller?.team !== undefined ? { team: caller.team } : caller?.id;

/** Whether this is answered, and would be refused by another door. */
function isCut({ cutsTokens, modelSettings, request, targets = [] }: Call<"chat" | "complete">) {
  const { maxTokens = 0 } = request;
  return (
    cutsTokens === true && targets.some(({ model }) => maxTokens > capOf(model, modelSettings))
  );
}

/** Whether each target has the same model by whatever name: of some, what a `*` fits may be another one. */
function isOneModel({ targets, model }: Partial<ModelSettings> = {}): boolean {
  const names = targets?.map((target) => target.model ?? model) ?? [model];
  return names.every((name) => name !== undefined && !name.includes("*"));
}

/** What makes a model another one, or lets it answer otherwise. */
function settingsOf(settings: Partial<ModelSettings> = {}): unknown {
  const { targets, backends, model, defaults, reasoningEffort, maxTokens } = settings;
  const { unsupported = "default" } = settings;
  const places = targets?.map((target) => [target.backend, target.model]);
  return [places, backends, model, defaults, reasoningEffort, maxTokens, unsupported];
}
