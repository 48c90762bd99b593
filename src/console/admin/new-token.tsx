/** A form for a token that is to be made. */
import { useState } from "preact/hooks";
import { Choice, Line, numberIn } from "../fields.js";

const empty = {
  ...{ name: "", team: "", models: "", days: "", budget: "", period: "month" },
  ...{ requests_per_minute: "", tokens_per_minute: "", images_per_day: "", concurrent: "" },
};
type Form = typeof empty;

const limits = [
  { name: "requests_per_minute", label: "Requests per minute" },
  { name: "tokens_per_minute", label: "Tokens per minute" },
  { name: "images_per_day", label: "Images per day" },
  { name: "concurrent", label: "Calls at once" },
] as const;

/** @param onMake gets the request of `CreateToken` */
export function NewToken({ onMake }: { readonly onMake: (request: object) => Promise<void> }) {
  const [form, setForm] = useState<Form>(empty);
  const change = (more: Partial<Form>) => setForm({ ...form, ...more });
  return (
    <details>
      <summary>New token</summary>
      <form
        class="grid"
        aria-label="New token"
        onSubmit={(event) => {
          event.preventDefault();
          void onMake(requestOf(form));
          setForm(empty);
        }}
      >
        <Line label="Name" value={form.name} onChange={(name) => change({ name })} />
        <Line label="Team" value={form.team} onChange={(team) => change({ team })} />
        <Line
          label="Models"
          placeholder="all; else small, image-*"
          value={form.models}
          onChange={(models) => change({ models })}
        />
        <Line
          label="Days until it ends"
          type="number"
          placeholder="never"
          value={form.days}
          onChange={(days) => change({ days })}
        />
        {limits.map(({ name, label }) => (
          <Line
            key={name}
            label={label}
            type="number"
            placeholder="as all callers"
            value={form[name]}
            onChange={(text) => change({ [name]: text })}
          />
        ))}
        <Line
          label="Budget"
          type="number"
          placeholder="as all callers"
          value={form.budget}
          onChange={(budget) => change({ budget })}
        />
        <Choice label="of each" value={form.period} onChange={(period) => change({ period })}>
          {["hour", "day", "week", "month", "lifetime"].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Choice>
        <button type="submit" disabled={form.name.trim() === ""}>
          Make it
        </button>
      </form>
    </details>
  );
}

function requestOf(form: Form): object {
  const names = form.models.split(",").flatMap((one) => one.trim() || []);
  const [days, budget] = [numberIn(form.days), numberIn(form.budget)];
  const own = limits.flatMap(({ name }) => {
    const amount = numberIn(form[name]);
    return amount === undefined ? [] : [[name, { amount }]];
  });
  return {
    name: form.name.trim(),
    team: form.team.trim(),
    ...(names.length > 0 && { models: { names } }),
    ...(days !== undefined && { expiry: { ttl: `${Math.round(days * 86_400)}s` } }),
    limits: {
      ...Object.fromEntries(own),
      ...(budget !== undefined && { budget: { amount: budget, period: form.period } }),
    },
  };
}
