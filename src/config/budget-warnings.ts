/** Budgets that nothing is ever spent of, and limits that a restart forgets. */
import type { BudgetPeriod } from "../core/limits/settings.js";
import type { Config } from "./schema.js";

const day = 86_400_000;

/** The longest that each period lasts, milliseconds. Of a lifetime what is deleted counts on. */
const lengths: Readonly<Record<BudgetPeriod, number>> = {
  hour: day / 24,
  day,
  week: 7 * day,
  month: 31 * day,
  lifetime: 0,
};

/** A line for each. Limits of tokens in the database are not known here. */
export function budgetWarnings(config: Config): string[] {
  const { limits, auth, prices, usage, state } = config;
  const { tokens, oidc, teams } = auth;
  const own = [...tokens, ...teams, ...oidc, ...oidc.flatMap(({ rules }) => rules)];
  const general = [limits.global, limits.caller, limits.team];
  const users = [limits.user, ...own.map((one) => one.limits?.user)];
  const ofPairs = limits.models.map(({ caller }) => caller);
  const ofTeams = [
    ...limits.models.map(({ team }) => team),
    ...teams.flatMap((one) => one.limits?.models ?? []),
  ];
  const shared = [...general, ...limits.models, ...ofPairs, ...ofTeams];
  const all = [...shared, ...own.map((one) => one.limits), ...users];
  const budgets = all
    .flatMap((entry) => entry?.budget ?? [])
    .filter(({ amount }) => counts(amount));
  const warnings: string[] = [];
  const ofNobody = [limits.global, ...limits.models].some((one) => counts(one?.budget?.amount));
  if (config.budget_alerts && auth.mode !== "token" && !ofNobody) {
    warnings.push(
      `budget_alerts tells of nothing: limits.global and limits.models have no budget, and auth.mode: ${auth.mode} knows no callers`,
    );
  }
  if (prices.length === 0 && budgets.length > 0) {
    warnings.push("prices is empty: nothing has a price, and no budget is ever spent");
  }
  const strangers = [limits.caller, limits.user, ...ofPairs].some(isForLife);
  if (auth.mode === "public" && strangers) {
    warnings.push(
      "limits.caller, limits.user or a caller of limits.models has a lifetime budget, and auth.mode is public: each bearer token that is made up has a counter that never ends",
    );
  }
  if (state.redis) return warnings;
  const images =
    all.some((entry) => counts(entry?.images_per_day)) ||
    oidc.some(({ claims }) => claims.images_per_day !== undefined);
  const periods = budgets.map(({ period }) => period).concat(images ? "day" : []);
  const [longest] = periods.toSorted((a, b) => lengths[b] - lengths[a]);
  if (longest === undefined) return warnings;
  if (!usage.enabled) {
    warnings.push(
      "usage.enabled is false, and there is no state.redis: budgets and images_per_day begin anew with each start",
    );
  } else if (usage.retention < lengths[longest]) {
    warnings.push(
      `usage.retention is shorter than the ${longest} that a limit lasts: after a restart it knows of less than was used`,
    );
  }
  if (usage.enabled && users.some(isForLife)) {
    warnings.push(
      "end users have a lifetime budget, and there is no state.redis: after a restart they have used what the records of usage.retention say",
    );
  }
  return warnings;
}

const isForLife = (entry: Config["limits"]["user"]) =>
  entry?.budget?.period === "lifetime" && counts(entry.budget.amount);

/** Whether there is a limit, and it is not `unlimited`. */
const counts = (amount: number | undefined) => Number.isFinite(amount);
