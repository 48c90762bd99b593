/** What a webhook is told of a budget. */
import type { BudgetAlert } from "../core/limits/alerts.js";

/** What is sent. `text` is what Slack and Mattermost show. */
export function bodyOf(alert: BudgetAlert, now: number) {
  const { scope, name, caller, team, period, threshold, amount, used, refused, endsAt } = alert;
  const end = endsAt === undefined ? undefined : inMinutes(endsAt);
  return {
    text: textOf({ ...alert, endsAt: end }),
    event: "budget",
    time: new Date(now).toISOString(),
    ...{
      scope,
      name,
      ...(caller !== undefined && { caller }),
      ...(team !== undefined && { team }),
    },
    ...{ period, threshold, amount, used, refused },
    ratio: used / amount,
    ...(end !== undefined && { resets_at: new Date(end).toISOString() }),
  };
}

/** Periods end with a full hour; as a store tells it whose clock is another one, some moments before or after. */
const inMinutes = (ms: number) => Math.round(ms / 60_000) * 60_000;

function textOf(alert: BudgetAlert): string {
  const { period, amount, used, refused, endsAt } = alert;
  const whose = whoseOf(alert);
  // Of 0.29 there would be 28.999… in a hundred.
  const share = Math.floor(Number(((used / amount) * 100).toPrecision(12)));
  const how = `${rounded(used)} of ${rounded(amount)} ${period === "lifetime" ? "in all" : `per ${period}`}`;
  const what = refused
    ? "calls are refused"
    : used >= amount
      ? "it is used up"
      : `${share}% is used`;
  const until =
    endsAt === undefined
      ? "does not begin anew"
      : `begins anew at ${new Date(endsAt).toISOString().slice(0, 16)}Z`;
  return `Budget of ${whose}: ${what} (${how}; it ${until}).`;
}

function whoseOf({ scope, name, caller = "", team = "" }: BudgetAlert): string {
  switch (scope) {
    case "global":
      return "the whole gateway";
    case "caller_model":
      return `the caller ${named(caller)} for ${modelsNamed(name)}`;
    case "team_model":
      return `the team ${named(team)} for ${modelsNamed(name)}`;
    default:
      return `the ${scope} ${named(name)}`;
  }
}

const modelsNamed = (name: string) =>
  `${name.includes("*") ? "models" : "the model"} ${named(name)}`;

/**
 * Callers' names may be their own: none may call a channel together, as Slack does for `<!channel>` and
 * Mattermost for `@channel`, which a space without width behind the `@` prevents. Not in addresses of mail.
 */
const named = (name: string) =>
  JSON.stringify(name)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/(?<!\w)@/g, "@\u200b");

const rounded = (amount: number) => String(Number(amount.toPrecision(6)));
