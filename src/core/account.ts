/** Who calls, and what is left of the limits that its calls come under. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  GetAccountResponseSchema,
  LimitQuantity,
  LimitSchema,
  LimitScope,
  LimitWindow,
} from "../../gen/lintel/v1/account_pb.js";
import type { Call, Caller } from "./call.js";
import type { Quantity } from "./limits/counters.js";
import { unit } from "./limits/prices.js";
import type { Rule, Rules } from "./limits/rules.js";
import type { BudgetPeriod } from "./limits/settings.js";
import type { LimitStore, Span, Standing } from "./limits/store.js";
import type { Input, Output } from "./methods.js";
import { overlap, overlapsAny, restOf } from "./pattern.js";
import type { Catalogue } from "./routing/catalogue.js";
import { fill } from "./routing/names.js";
import type { ModelSettings } from "./settings.js";

/** What it is told from. */
export interface AccountParts {
  /** Absent: nothing is limited. */
  readonly limits: { readonly rules: Rules; readonly store: LimitStore } | undefined;
  readonly catalogue: Pick<Catalogue, "counted">;
  /** What the operator calls models. */
  readonly entries: readonly ModelSettings[];
}

/** Answers `getAccount`: reads counters, and counts nothing. */
export async function* accountOf(
  { caller, request }: Call,
  { limits, catalogue, entries }: AccountParts,
): AsyncGenerator<readonly Output<"getAccount">[]> {
  const { team, models, teamModels } = caller ?? {};
  const own = overlapsAny(countedNames(models, catalogue, entries));
  const ofTeam = overlapsAny(countedNames(teamModels, catalogue, entries));
  const mayUse = (model: string) => own(model) && ofTeam(model);
  const { user } = request as Input<"getAccount">;
  const rules = limits?.rules.ofAll(caller, user, mayUse) ?? [];
  const standings = await limits?.store.peek(rules.map(({ counter }) => counter));
  yield [
    create(GetAccountResponseSchema, {
      caller: caller?.id ?? "",
      token: caller?.token ?? "",
      team: team ?? "",
      expiresAt: timestampOf(caller),
      models: [...(models ?? anything)],
      teamModels: team === undefined ? [] : [...(teamModels ?? anything)],
      limits: rules.map((rule, i) => limitOf(rule, standings?.[i])),
    }),
  ];
}

const anything: readonly string[] = ["*"];

/** The last moment that a `Timestamp` can tell, milliseconds since the epoch. */
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Issuers may write any number: what ends later than that is told as if it did not end. */
const timestampOf = ({
  expiresAt = Number.POSITIVE_INFINITY,
}: Partial<Caller> = {}): Timestamp | undefined =>
  expiresAt <= lastMs ? timestampFromMs(Math.floor(expiresAt)) : undefined;

/**
 * The names under which calls may count of whoever may use these models: a caller may have an alias,
 * and limits are of what it stands for.
 * @param models names or patterns; absent: all
 */
function countedNames(
  models: readonly string[] | undefined,
  catalogue: AccountParts["catalogue"],
  entries: readonly ModelSettings[],
): readonly string[] {
  if (!models) return anything;
  const aliases = entries.flatMap((entry) =>
    (entry.aliases ?? []).map((alias) => ({ alias, name: entry.name })),
  );
  const patterns = aliases.filter(({ alias }) => alias.includes("*"));
  const byAlias = new Map(aliases.map(({ alias, name }) => [alias, name]));
  const counted = [...models];
  for (const model of models) {
    if (model.includes("*")) {
      for (const { alias, name } of aliases) {
        const rest = restOf(alias, model);
        if (rest !== undefined) counted.push(fill(name, rest));
        else if (overlap(alias, model)) counted.push(name);
      }
      continue;
    }
    for (const name of [catalogue.counted(model), byAlias.get(model)]) {
      if (name !== undefined) counted.push(name);
    }
    for (const { alias, name } of patterns) {
      const rest = restOf(alias, model);
      if (rest !== undefined) counted.push(fill(name, rest));
    }
  }
  return counted;
}

function limitOf({ quantity, scope, name, counter }: Rule, standing: Standing | undefined) {
  const amount = (counted: number) => (quantity === "spend" ? counted / unit : counted);
  // When calls that run will end nobody knows.
  const resetMs = counter.span.type === "running" ? undefined : standing?.resetMs;
  return create(LimitSchema, {
    quantity: quantities[quantity],
    scope: scopesTold[scope],
    name,
    limit: amount(counter.limit),
    remaining: standing && amount(standing.remaining),
    window: windowOf(counter.span),
    resetSeconds:
      resetMs === undefined || resetMs === Number.POSITIVE_INFINITY
        ? undefined
        : Math.ceil(resetMs / 1000),
  });
}

const quantities: Readonly<Record<Quantity, LimitQuantity>> = {
  requests: LimitQuantity.REQUESTS,
  tokens: LimitQuantity.TOKENS,
  images: LimitQuantity.IMAGES,
  concurrent: LimitQuantity.CONCURRENT,
  spend: LimitQuantity.SPEND,
};

const scopesTold: Readonly<Record<Rule["scope"], LimitScope>> = {
  caller: LimitScope.CALLER,
  caller_model: LimitScope.CALLER_MODEL,
  user: LimitScope.USER,
  team: LimitScope.TEAM,
  team_model: LimitScope.TEAM_MODEL,
  model: LimitScope.MODEL,
  global: LimitScope.GLOBAL,
};

const periods: Readonly<Record<BudgetPeriod, LimitWindow>> = {
  hour: LimitWindow.HOUR,
  day: LimitWindow.DAY,
  week: LimitWindow.WEEK,
  month: LimitWindow.MONTH,
  lifetime: LimitWindow.LIFETIME,
};

function windowOf(span: Span): LimitWindow {
  switch (span.type) {
    case "sliding":
      return LimitWindow.MINUTE;
    case "calendar":
      return periods[span.period];
    case "running":
      return LimitWindow.RUNNING;
  }
}
