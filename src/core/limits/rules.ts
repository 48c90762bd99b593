/** Which limits a call has to keep. */
import { hash } from "node:crypto";
import type { Caller } from "../call.js";
import { fits } from "../pattern.js";
import { Recent } from "../recent.js";
import { unit } from "./prices.js";
import type { CallerLimits, LimitSettings, ModelLimits } from "./settings.js";
import type { Counter } from "./store.js";

/** What is counted. Spend in billionths of the price table's unit. */
export type Quantity = "requests" | "tokens" | "images" | "concurrent" | "spend";

/** One limit. */
export interface Rule {
  readonly quantity: Quantity;
  readonly scope: ScopeRules["scope"];
  readonly counter: Counter;
  /** The limit and its scope in words: `600 requests per minute for this caller`. */
  readonly words: string;
}

/** Limits of one scope. */
export interface ScopeRules {
  readonly scope: "caller" | "user" | "team" | "model" | "global";
  /** Of the user, the team or the model, also with a `*`; empty for other scopes. */
  readonly name: string;
  readonly rules: readonly Rule[];
}

/** Whose calls are counted together. */
export const scopes = {
  gateway: "global",
  /** @param id `Caller.id` */
  caller: (id: string) => `caller:${id}`,
  /**
   * Of one end user of a caller. Both names are others' own, may be long, and have any characters: a hash
   * of the two is short, no pair's is that of another, and stores need not know whom callers serve.
   * @param id `Caller.id`
   * @param user `Attributes.user`
   */
  user: (id: string, user: string) => `user:${hash("sha256", pairOf(id, user), "base64url")}`,
  /** @param name `Caller.team` */
  team: (name: string) => `team:${name}`,
  /** @param name of an entry of the configuration */
  model: (name: string) => `model:${name}`,
} as const;

/** A caller and its user as one text, which says where the first ends. */
const pairOf = (id: string, user: string) => `${id.length}:${id}${user}`;

/**
 * Name of a counter in every store. Under another name it begins at 0 again.
 * @param scope one of `scopes`
 */
export function counterKey(scope: string, quantity: Quantity, span: Counter["span"]): string {
  // A budget of another period is another counter.
  const budget = quantity === "spend" && span.type === "calendar";
  return `${scope}:${budget ? `${quantity}-${span.period}` : quantity}`;
}

/** Callers, users, teams and models whose rules are remembered. Those of others are made anew each time. */
const mostRemembered = 10_000;

const none: readonly Rule[] = [];

/** The limits of a configuration, and of the callers who bring their own. */
export class Rules {
  readonly #settings: LimitSettings;
  readonly #global: readonly Rule[];
  readonly #models = new Recent<string, readonly Rule[]>(mostRemembered);
  readonly #teams = new Recent<string, readonly Rule[]>(mostRemembered);
  /** By `pairOf`. */
  readonly #users = new Recent<string, readonly Rule[]>(mostRemembered);
  readonly #ofTeams: ReadonlyMap<string, CallerLimits>;
  readonly #callers = new Recent<
    string,
    { limits: CallerLimits | undefined; rules: readonly Rule[] }
  >(mostRemembered);

  constructor(settings: LimitSettings) {
    this.#settings = settings;
    this.#ofTeams = new Map(settings.teams?.map(({ team, ...limits }) => [team, limits]));
    this.#global = rulesOf(settings.global, "global", scopes.gateway, "for this gateway");
  }

  /**
   * The rules for a call; empty: nothing limits it.
   * @param user whom it is for; absent: it names nobody
   */
  for(caller: Caller | undefined, user: string | undefined, model: string): readonly Rule[] {
    const { models, user: everyUser } = this.#settings;
    const own = caller ? this.#ofCaller(caller) : none;
    const ofUser = caller && user && everyUser ? this.#ofUser(caller.id, user, everyUser) : none;
    const ofTeam = caller?.team === undefined ? none : this.#ofTeam(caller.team);
    const ofModel = models.length === 0 ? none : this.#ofModel(model);
    if (ofUser.length + ofTeam.length + ofModel.length + this.#global.length === 0) return own;
    return [...own, ...ofUser, ...ofTeam, ...ofModel, ...this.#global];
  }

  /**
   * All rules that calls of a caller can come under, whichever models they are for.
   * @param user one of the caller's end users; empty: nobody
   * @param mayUse whether an entry of the models' limits fits a model that the caller may use
   */
  ofAll(
    caller: Caller | undefined,
    user: string,
    mayUse: (model: string) => boolean,
  ): ScopeRules[] {
    const { models, user: everyUser } = this.#settings;
    const ofUser = caller && user && everyUser ? this.#ofUser(caller.id, user, everyUser) : none;
    const team = caller?.team;
    const all: ScopeRules[] = [
      { scope: "caller", name: "", rules: caller ? this.#ofCaller(caller) : [] },
      { scope: "user", name: user, rules: ofUser },
      { scope: "team", name: team ?? "", rules: team === undefined ? [] : this.#ofTeam(team) },
      ...models
        .filter(({ model }) => mayUse(model))
        .map(
          (entry) => ({ scope: "model", name: entry.model, rules: rulesOfModel(entry) }) as const,
        ),
      { scope: "global", name: "", rules: this.#global },
    ];
    return all.filter(({ rules }) => rules.length > 0);
  }

  #ofCaller({ id, limits }: Caller): readonly Rule[] {
    const everyone = this.#settings.caller;
    if (!limits && !everyone) return none;
    const known = this.#callers.get(id);
    if (known && known.limits === limits) return known.rules;
    const all = merged(everyone, limits);
    const rules = rulesOf(all, "caller", scopes.caller(id), "for this caller");
    this.#callers.set(id, { limits, rules });
    return rules;
  }

  #ofUser(id: string, user: string, limits: CallerLimits): readonly Rule[] {
    const pair = pairOf(id, user);
    const known = this.#users.get(pair);
    if (known) return known;
    const rules = rulesOf(limits, "user", scopes.user(id, user), "for this user");
    this.#users.set(pair, rules);
    return rules;
  }

  #ofTeam(team: string): readonly Rule[] {
    const known = this.#teams.get(team);
    if (known) return known;
    const limits = merged(this.#settings.team, this.#ofTeams.get(team));
    const words = `for the team ${JSON.stringify(team)}`;
    const rules = rulesOf(limits, "team", scopes.team(team), words);
    this.#teams.set(team, rules);
    return rules;
  }

  #ofModel(model: string): readonly Rule[] {
    const known = this.#models.get(model);
    if (known) return known;
    const rules = this.#settings.models
      .filter((entry) => fits(entry.model, model))
      .flatMap(rulesOfModel);
    this.#models.set(model, rules);
    return rules;
  }
}

function rulesOfModel(entry: ModelLimits): Rule[] {
  const name = JSON.stringify(entry.model);
  const words = entry.model.includes("*") ? `for the models ${name}` : `for the model ${name}`;
  return rulesOf(entry, "model", scopes.model(entry.model), words);
}

function merged(everyone: CallerLimits = {}, own: CallerLimits = {}): CallerLimits {
  const said = Object.entries(own).filter(([, value]) => value !== undefined);
  return { ...everyone, ...Object.fromEntries(said) };
}

const estimates: ReadonlySet<Quantity> = new Set<Quantity>(["tokens", "images", "spend"]);

const many = (n: number | undefined, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;

const minute = { type: "sliding", ms: 60_000 } as const;
const day = { type: "calendar", period: "day" } as const;
const running = { type: "running" } as const;

/** @param whose one of `scopes` */
function rulesOf(
  limits: CallerLimits | undefined,
  scope: Rule["scope"],
  whose: string,
  words: string,
): Rule[] {
  if (!limits) return [];
  const { requestsPerMinute, tokensPerMinute, imagesPerDay, concurrent, budget } = limits;
  const rules: Rule[] = [];
  const add = (
    quantity: Quantity,
    span: Counter["span"],
    limit: number | undefined,
    what: string,
  ) => {
    if (limit === undefined || limit === Number.POSITIVE_INFINITY) return;
    const key = counterKey(whose, quantity, span);
    rules.push({
      quantity,
      scope,
      counter: { key, span, limit, estimated: estimates.has(quantity) },
      words: `${what} ${words}`,
    });
  };
  add("requests", minute, requestsPerMinute, `${many(requestsPerMinute, "request")} per minute`);
  add("tokens", minute, tokensPerMinute, `${many(tokensPerMinute, "token")} per minute`);
  add("images", day, imagesPerDay, `${many(imagesPerDay, "image")} per day`);
  add("concurrent", running, concurrent, `${many(concurrent, "call")} at a time`);
  if (budget) {
    const { amount, period } = budget;
    const limit = Math.round(amount * unit);
    add("spend", { type: "calendar", period }, limit, `a budget of ${amount} per ${period}`);
  }
  return rules;
}
