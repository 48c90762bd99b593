/** How a model is to answer. */
import { Area, Choice, Line, ModelChoice, Tick } from "../fields.js";
import type { Model } from "../wire.js";
import { type ChatForm, holds, mayDraw, mostTokens, numbers, words } from "./form.js";

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
  const offered = holds.filter(({ supported }) => supports.includes(supported));
  const hold = offered.find(({ type }) => type === form.format);
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
          {offered.map(({ type, option }) => (
            <option key={type} value={type}>
              {option}
            </option>
          ))}
        </Choice>
      )}
      {hold && (
        <Area
          label={hold.label}
          placeholder={hold.placeholder}
          rows={4}
          value={form.held[hold.type] ?? ""}
          onChange={(value) => onChange({ held: { ...form.held, [hold.type]: value } })}
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
