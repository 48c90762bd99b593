/** Controls of forms, each with its label. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Model } from "./wire.js";

interface Labelled {
  readonly label: string;
  /** What holds where the field is empty. */
  readonly placeholder?: string | undefined;
}

interface TextField extends Labelled {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A line of text; numbers are texts, too, so that an empty one means that none is sent. */
export function Line({
  label,
  placeholder,
  value,
  onChange,
  type = "text",
  step,
}: TextField & { readonly type?: "text" | "number" | "password"; readonly step?: string }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        // Preact tells kinds of inputs apart, whose attributes are alike here.
        type={type as "text"}
        step={step ?? "any"}
        value={value}
        placeholder={placeholder}
        autocomplete="off"
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

/** Several lines of text. */
export function Area({
  label,
  placeholder,
  value,
  onChange,
  rows,
}: TextField & { readonly rows: number }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        placeholder={placeholder}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

/** One of several values. */
export function Choice({
  label,
  value,
  onChange,
  children,
}: TextField & { readonly children: ComponentChildren }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {children}
      </select>
    </div>
  );
}

/** One of the models. */
export const ModelChoice = ({
  models,
  value,
  onChange,
}: {
  readonly models: readonly Model[];
  readonly value: string;
  readonly onChange: (id: string) => void;
}) => (
  <Choice label="Model" value={value} onChange={onChange}>
    {models.map(({ id }) => (
      <option key={id} value={id}>
        {id}
      </option>
    ))}
  </Choice>
);

/** Yes or no. */
export function Tick({
  label,
  checked,
  onChange,
}: {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}

/** What somebody wrote for numbers of a model, by the names of their fields; without those that it has not. */
export const numbersIn = (
  written: Readonly<Record<string, string>>,
  supports: readonly string[],
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(written).flatMap(([name, text]) => {
      const value = supports.includes(name) ? numberIn(text) : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** What somebody wrote for a number; `undefined` where that is nothing, or none. */
export function numberIn(text: string): number | undefined {
  const value = Number(text);
  return text.trim() === "" || Number.isNaN(value) ? undefined : value;
}
