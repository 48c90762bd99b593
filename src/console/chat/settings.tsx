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
  /** Of what is one of several words, by the names of their fields. */
  readonly words: Readonly<Record<string, string>>;
  /** Of numbers, by the names of their fields. */
  readonly numbers: Readonly<Record<string, string>>;
}

export const emptyForm: ChatForm = {
  model: "",
  system: "",
  logprobs: false,
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
    ...(form.logprobs &&
      supports.includes("logprobs") && { logprobs: true, top_logprobs: likeliest }),
  };
}

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
      {supports.includes("logprobs") && (
        <Tick
          label="Tell how likely tokens were"
          checked={form.logprobs}
          onChange={(logprobs) => change({ logprobs })}
        />
      )}
    </form>
  );
}

function placeholderOf(model: Model, name: string, usual: number | undefined): string | undefined {
  if (name === "max_tokens") return String(mostTokens(model));
  if (name === "seed") return "random";
  return (model.defaults[name] ?? usual)?.toString();
}
