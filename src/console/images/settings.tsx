/** What pictures are to be like. */
import { Area, Choice, Line, ModelChoice, numbersIn, Tick } from "../fields.js";
import type { Model } from "../wire.js";

/** What stands in the form. Empty texts are left to the gateway. */
export interface ImageForm {
  readonly model: string;
  readonly prompt: string;
  readonly negative: string;
  readonly lora: string;
  readonly safety: boolean;
  readonly previews: boolean;
  /** Of numbers, by the names of their fields. */
  readonly numbers: Readonly<Record<string, string>>;
}

export const emptyForm: ImageForm = {
  ...{ model: "", prompt: "", negative: "", lora: "", safety: true, previews: true, numbers: {} },
};

const numbers = [
  { name: "width", label: "Width", usual: 1024, step: "8" },
  { name: "height", label: "Height", usual: 576, step: "8" },
  { name: "num_inference_steps", label: "Steps", usual: 50, step: "1" },
  { name: "guidance_scale", label: "Guidance", usual: 7.5, step: "any" },
  { name: "seed", label: "Seed", usual: undefined, step: "1" },
] as const;

const count = "num_images_per_prompt";

/** The request that the form stands for. */
export function requestOf(form: ImageForm, model: Model | undefined): object {
  const supports = model?.supports ?? [];
  return {
    model_id: form.model,
    prompt: form.prompt,
    ...(form.negative.trim() !== "" && supports.includes("negative_prompt")
      ? { negative_prompt: form.negative }
      : {}),
    ...numbersIn(form.numbers, [...supports, count]),
    ...(form.lora !== "" && supports.includes("loras") ? { loras: { [form.lora]: 1 } } : {}),
    ...(form.safety ? {} : { safety_check: false }),
    ...(form.previews && supports.includes("include_previews") ? { include_previews: true } : {}),
    stream: true,
  };
}

/** The form, with what the model supports. */
export function ImageSettings({
  form,
  models,
  onChange,
}: {
  readonly form: ImageForm;
  /** Those that draw. */
  readonly models: readonly Model[];
  readonly onChange: (form: ImageForm) => void;
}) {
  const model = models.find(({ id }) => id === form.model);
  const supports = model?.supports ?? [];
  const change = (more: Partial<ImageForm>) => onChange({ ...form, ...more });
  const numbered = (name: string, text: string) =>
    change({ numbers: { ...form.numbers, [name]: text } });
  return (
    <form class="settings" aria-label="Settings" onSubmit={(event) => event.preventDefault()}>
      <ModelChoice models={models} value={form.model} onChange={(model) => change({ model })} />
      {supports.includes("negative_prompt") && (
        <Area
          label="Negative prompt"
          rows={2}
          value={form.negative}
          onChange={(negative) => change({ negative })}
        />
      )}
      <div class="numbers">
        {numbers
          .filter(({ name }) => supports.includes(name))
          .map(({ name, label, usual, step }) => (
            <Line
              key={name}
              label={label}
              type="number"
              step={step}
              value={form.numbers[name] ?? ""}
              placeholder={name === "seed" ? "random" : String(model?.defaults[name] ?? usual)}
              onChange={(text) => numbered(name, text)}
            />
          ))}
        <Line
          label="Images of each prompt"
          type="number"
          step="1"
          value={form.numbers[count] ?? ""}
          placeholder="1"
          onChange={(text) => numbered(count, text)}
        />
      </div>
      {supports.includes("loras") && (model?.loras.length ?? 0) > 0 && (
        <Choice label="LoRA" value={form.lora} onChange={(lora) => change({ lora })}>
          <option value="">none</option>
          {model?.loras.map((id) => (
            <option key={id}>{id}</option>
          ))}
        </Choice>
      )}
      <Tick
        label="Check for harmful pictures"
        checked={form.safety}
        onChange={(safety) => change({ safety })}
      />
      {supports.includes("include_previews") && (
        <Tick
          label="Show what it comes to"
          checked={form.previews}
          onChange={(previews) => change({ previews })}
        />
      )}
    </form>
  );
}
