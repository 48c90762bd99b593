/** How models are described: by their backends, and as the operator has them. */
import { type Model, PromptBar, State, Task } from "../../gen/lintel/v1/models_pb.js";
import { files } from "./documents.js";
import { capOf, modalities, planOf } from "./parameters.js";
import { barOf } from "./prompts.js";
import type { Bounds, CoreSettings, ModelSettings } from "./settings.js";

/** Unix seconds of this process's begin: nothing was served before. */
const begun = Math.floor(performance.timeOrigin / 1000);

/** A model that answers and supports nothing in particular, but for what is said otherwise. */
export function modelOf(id: string, task: Task, known: Partial<Model> = {}): Model {
  return {
    $typeName: "lintel.v1.Model",
    id,
    task,
    state: State.READY,
    stateDetail: "",
    supports: [],
    maxTokens: 0,
    promptBar: PromptBar.UNSPECIFIED,
    isDefault: false,
    defaults: {},
    loras: [],
    created: begun,
    source: "",
    sizeBytes: 0n,
    contextLength: 0,
    inputModalities: [],
    outputModalities: [],
    ...known,
  };
}

/** What prompts and answers may have, as clients of OpenRouter call it. */
export type Modalities = Pick<Model, "inputModalities" | "outputModalities">;

/** Both in a word, as clients of OpenRouter have it: `text+image->text`; `undefined`: not known. */
export function modalityOf({ inputModalities: takes, outputModalities: gives }: Modalities) {
  if (takes.length === 0 || gives.length === 0) return undefined;
  return `${takes.join("+")}->${gives.join("+")}`;
}

/** Fields of the contract by which a prompt has more than text. */
const inputs = { image: "image_url", file: files, audio: "input_audio" } as const;

/** Those of a chat model that supports just this: of one that may support more or less nobody knows them. */
export function modalitiesOf(supports: readonly string[]): Modalities {
  const taken = Object.entries(inputs).filter(([, field]) => supports.includes(field));
  return {
    inputModalities: ["text", ...taken.map(([name]) => name)],
    outputModalities: supports.includes(modalities) ? ["text", "image"] : ["text"],
  };
}

/**
 * What a chat model supports whose server tells what it takes. Files stay: servers that list no model as one for them
 * read them to all.
 */
export const supportedOf = (supports: readonly string[], takes: readonly string[]): string[] =>
  supports.filter(
    (field) =>
      (field !== inputs.image || takes.includes("image")) &&
      (field !== inputs.audio || takes.includes("audio")),
  );

/** A model as calls meet it: with what the operator configured for it and for all, and shows of it. */
export function configured(
  model: Model,
  settings: ModelSettings | undefined,
  { bounds, exposeSources }: Pick<CoreSettings, "bounds" | "exposeSources">,
): Model {
  return {
    ...model,
    maxTokens: mostTokens(model, settings, bounds),
    contextLength: contextOf(model, settings),
    promptBar: barOf(settings?.prompt) ?? model.promptBar,
    defaults: defaultsOf(model, settings, bounds),
    source: exposeSources ? model.source : "",
    ...(model.task === Task.TEXT_TO_IMAGE && ofImages),
  };
}

const ofImages: Modalities = { inputModalities: ["text"], outputModalities: ["image"] };

/** Whether a model brings a check of its own. */
export const checks = (model: Model): boolean => model.supports.includes("safety_check");

/** A model whose images are all checked where it is served: gateways before it ask for that, and believe it. */
export function checked(model: Model): Model {
  if (model.task !== Task.TEXT_TO_IMAGE) return model;
  return { ...model, supports: [...new Set([...model.supports, "safety_check"])] };
}

/** Most tokens of one completion; 0: not known, or more than can be told. */
function mostTokens(
  model: Model,
  settings: ModelSettings | undefined,
  { max_tokens: bound }: Bounds,
): number {
  if (model.task !== Task.CHAT) return 0;
  const most = Math.min(capOf(model, settings), bound?.max ?? Number.POSITIVE_INFINITY);
  return most < 2 ** 32 ? Math.floor(most) : 0;
}

/** Most tokens of a conversation with its answer; 0: not known. */
const contextOf = ({ task, contextLength }: Model, settings: ModelSettings | undefined): number =>
  task === Task.CHAT ? (settings?.contextLength ?? contextLength) : 0;

/** What the model is asked for where a request says nothing, as far as that is not the contract's default. */
function defaultsOf(
  model: Model,
  settings: ModelSettings | undefined,
  bounds: Bounds,
): Model["defaults"] {
  const defaults = { ...model.defaults, ...settings?.defaults };
  const { parameters, unset } = planOf(model, settings, bounds, model.task === Task.CHAT);
  for (const { name, key, fallback, supported } of parameters) {
    const value = unset[key];
    // One that was set is told in any case, as it is after all.
    const told = name in defaults || (supported && value !== fallback);
    if (told && typeof value === "number") defaults[name] = value;
    // But for one that the model is asked without.
    if (!supported && value === fallback) delete defaults[name];
  }
  return defaults;
}
