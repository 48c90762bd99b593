/** How a model is to answer. */
import { Area, Choice, Line, ModelChoice, numbersIn, Tick } from "../fields.js";
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
  /** A JSON schema for the answer. */
  readonly schema: string;
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
  schema: "",
  words: {},
  numbers: {},
};

const numbers = [
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

const words = [
  {
    name: "reasoning_effort",
    label: "Reasoning effort",
    all: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  },
  { name: "verbosity", label: "Verbosity", all: ["low", "medium", "high"] },
] as const;

/** As much as a person wants to read: the contract's 256 tokens would end in the middle of most answers. */
const readable = 2048;

/** How many tokens that might have stood at a place are told. */
const likeliest = 5;

const mostTokens = ({ max_tokens }: Model): number =>
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
  const texts = stop.split("\n").filter((line) => line !== "");
  return texts.length > 0 && supports.includes("stop") ? { stop: texts } : {};
}

function formatIn({ format, schema }: ChatForm, supports: readonly string[]): Settings {
  if (format === "" || !supports.includes("response_format")) return {};
  // What is no JSON the gateway refuses, and says why.
  const named = { json_schema: { name: "answer", schema } };
  return { response_format: { type: format, ...(format === "json_schema" && named) } };
}

const drawing = ({ aspect }: ChatForm, supports: readonly string[]): Settings => ({
  modalities: ["text", "image"],
  ...(aspect !== "" &&
    supports.includes("image_config") && { image_config: { aspect_ratio: aspect } }),
});

/** Whether its answers may have pictures; one that tells nothing of it may be tried. */
const mayDraw = ({ supports, output_modalities: gives }: Model): boolean =>
  supports.includes("modalities") && (gives.length === 0 || gives.includes("image"));

/** The form, with what the model supports. */
export function ChatSettings({
  form,
  models,
  onChange,
}: {
  readonly form: ChatForm;
  /** Those that chat. */
  readonly models: readonly Model[];
  readonly onChange: (form: ChatForm) => void;
}) {
  const model = models.find(({ id }) => id === form.model);
  const supports = model?.supports ?? [];
  const change = (more: Partial<ChatForm>) => onChange({ ...form, ...more });
  return (
    <form class="settings" aria-label="Settings" onSubmit={(event) => event.preventDefault()}>
      <ModelChoice models={models} value={form.model} onChange={(model) => change({ model })} />
      <Area
        label="System prompt"
        rows={4}
        value={form.system}
        onChange={(system) => change({ system })}
      />
      {words
        .filter(({ name }) => supports.includes(name))
        .map(({ name, label, all }) => (
          <Choice
            key={name}
            label={label}
            value={form.words[name] ?? ""}
            onChange={(value) => change({ words: { ...form.words, [name]: value } })}
          >
            <option value="">as the model does</option>
            {all.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </Choice>
        ))}
      <div class="numbers">
        {model &&
          numbers
            .filter(({ name }) => supports.includes(name))
            .map(({ name, label, usual }) => (
              <Line
                key={name}
                label={label}
                type="number"
                value={form.numbers[name] ?? ""}
                placeholder={placeholderOf(model, name, usual)}
                onChange={(value) => change({ numbers: { ...form.numbers, [name]: value } })}
              />
            ))}
      </div>
      {model && <More form={form} model={model} onChange={change} />}
    </form>
  );
}

/** What few ask for. */
function More({
  form,
  model,
  onChange,
}: {
  readonly form: ChatForm;
  readonly model: Model;
  readonly onChange: (more: Partial<ChatForm>) => void;
}) {
  const { supports } = model;
  return (
    <>
      {supports.includes("stop") && (
        <Area
          label="Stop at"
          placeholder="Texts that end an answer, one in each line"
          rows={2}
          value={form.stop}
          onChange={(stop) => onChange({ stop })}
        />
      )}
      {supports.includes("response_format") && (
        <Choice
          label="The answer is"
          value={form.format}
          onChange={(format) => onChange({ format })}
        >
          <option value="">a text</option>
          <option value="json_object">JSON</option>
          <option value="json_schema">JSON by a schema</option>
        </Choice>
      )}
      {supports.includes("response_format") && form.format === "json_schema" && (
        <Area
          label="JSON schema"
          placeholder='{ "type": "object" }'
          rows={4}
          value={form.schema}
          onChange={(schema) => onChange({ schema })}
        />
      )}
      {mayDraw(model) && (
        <Tick label="Let it draw" checked={form.draws} onChange={(draws) => onChange({ draws })} />
      )}
      {form.draws && mayDraw(model) && supports.includes("image_config") && (
        <Line
          label="Aspect ratio"
          placeholder="as the model does, or 16:9"
          value={form.aspect}
          onChange={(aspect) => onChange({ aspect })}
        />
      )}
      {supports.includes("logprobs") && (
        <Tick
          label="Tell how likely tokens were"
          checked={form.logprobs}
          onChange={(logprobs) => onChange({ logprobs })}
        />
      )}
    </>
  );
}

function placeholderOf(model: Model, name: string, usual: number | undefined): string | undefined {
  if (name === "max_tokens") return String(mostTokens(model));
  if (name === "seed") return "random";
  return (model.defaults[name] ?? usual)?.toString();
}
