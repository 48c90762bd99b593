/** What is said of how a model is to answer, and the request that it stands for. */
import { numbersIn } from "../fields.js";
import type { Model } from "../wire.js";
import type { Settings } from "./conversation.js";

/** What stands in the form. Empty texts are left to the gateway. */
export interface ChatForm {
  readonly model: string;
  readonly system: string;
  /** Whether the answer tells how likely its tokens were. */
  readonly logprobs: boolean;
  /** Whether the answer may have pictures. */
  readonly draws: boolean;
  /** Texts that end an answer, each in a line. */
  readonly stop: string;
  /** Of the pictures, as `16:9`. */
  readonly aspect: string;
  /** What the answer is, a `type` of `response_format`; empty: a text. */
  readonly format: string;
  /** What the answer is held to, by that type: a JSON schema, texts in lines, an expression, a grammar. */
  readonly held: Readonly<Record<string, string>>;
  /** Of what is one of several words, by the names of their fields. */
  readonly words: Readonly<Record<string, string>>;
  /** Of numbers, by the names of their fields. */
  readonly numbers: Readonly<Record<string, string>>;
}

export const emptyForm: ChatForm = {
  model: "",
  system: "",
  logprobs: false,
  draws: false,
  stop: "",
  aspect: "",
  format: "",
  held: {},
  words: {},
  numbers: {},
};

/** Fields of numbers, and what they are usually. */
export const numbers = [
  { name: "temperature", label: "Temperature", usual: 0.7 },
  { name: "max_tokens", label: "Most tokens", usual: undefined },
  { name: "top_p", label: "Top p", usual: 1 },
  { name: "top_k", label: "Top k", usual: undefined },
  { name: "min_p", label: "Min p", usual: 0 },
  { name: "frequency_penalty", label: "Frequency penalty", usual: 0 },
  { name: "presence_penalty", label: "Presence penalty", usual: 0 },
  { name: "repetition_penalty", label: "Repetition penalty", usual: 1 },
  { name: "seed", label: "Seed", usual: undefined },
] as const;

/** Fields that are one of several words. */
export const words = [
  {
    name: "reasoning_effort",
    label: "Reasoning effort",
    all: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  },
  { name: "verbosity", label: "Verbosity", all: ["low", "medium", "high"] },
] as const;

/** What an answer can be held to, by types of `response_format`, and what of a model's `supports` has them. */
export const holds = [
  {
    ...{ type: "json_schema", supported: "response_format", option: "JSON by a schema" },
    ...{ label: "JSON schema", placeholder: '{ "type": "object" }' },
  },
  {
    ...{ type: "choice", supported: "choice", option: "one of some texts" },
    ...{ label: "Texts", placeholder: "One in each line" },
  },
  {
    ...{ type: "regex", supported: "regex", option: "what matches an expression" },
    ...{ label: "Regular expression", placeholder: "[0-9]{4}-[0-9]{2}" },
  },
  {
    ...{ type: "grammar", supported: "grammar", option: "a text of a grammar" },
    ...{ label: "Grammar", placeholder: 'root ::= "yes" | "no"' },
  },
] as const;

/** As much as a person wants to read: the contract's 256 tokens would end in the middle of most answers. */
const readable = 2048;

/** How many tokens that might have stood at a place are told. */
const likeliest = 5;

/** How many tokens an answer may have where nobody says it. */
export const mostTokens = ({ max_tokens }: Model): number =>
  max_tokens === 0 ? readable : Math.min(max_tokens, readable);

/** The fields of a request that the form stands for. */
export function settingsOf(form: ChatForm, model: Model | undefined): Settings {
  const supports = model?.supports ?? [];
  const chosen = Object.entries(form.words).filter(
    ([name, word]) => supports.includes(name) && word !== "",
  );
  return {
    model: form.model,
    ...(model && supports.includes("max_tokens") && { max_tokens: mostTokens(model) }),
    ...numbersIn(form.numbers, supports),
    ...Object.fromEntries(chosen),
    ...stopIn(form, supports),
    ...formatIn(form, supports),
    ...(form.draws && model && mayDraw(model) && drawing(form, supports)),
    ...(form.logprobs &&
      supports.includes("logprobs") && { logprobs: true, top_logprobs: likeliest }),
  };
}

function stopIn({ stop }: ChatForm, supports: readonly string[]): Settings {
  const texts = linesOf(stop);
  return texts.length > 0 && supports.includes("stop") ? { stop: texts } : {};
}

const linesOf = (text: string): string[] => text.split("\n").filter((line) => line !== "");

function formatIn({ format, held }: ChatForm, supports: readonly string[]): Settings {
  const hold = holds.find(({ type }) => type === format);
  if (format === "" || !supports.includes(hold?.supported ?? "response_format")) return {};
  // What is none of it the gateway refuses, and says why.
  const value = held[format] ?? "";
  const values: Readonly<Record<string, unknown>> = {
    json_schema: { name: "answer", schema: value },
    choice: linesOf(value),
  };
  return { response_format: { type: format, ...(hold && { [format]: values[format] ?? value }) } };
}

const drawing = ({ aspect }: ChatForm, supports: readonly string[]): Settings => ({
  modalities: ["text", "image"],
  ...(aspect !== "" &&
    supports.includes("image_config") && { image_config: { aspect_ratio: aspect } }),
});

/** Whether its answers may have pictures; one that tells nothing of it may be tried. */
export const mayDraw = ({ supports, output_modalities: gives }: Model): boolean =>
  supports.includes("modalities") && (gives.length === 0 || gives.includes("image"));
