/** Which limits a call has to keep. */
import type { Caller } from "../call.js";
import { fits } from "../pattern.js";
import { Recent } from "../recent.js";
import { counterKey, pairOf, type Quantity, scopes } from "./counters.js";
import { merged, modelsOfTeam, type OfModels } from "./own-limits.js";
import { unit } from "./prices.js";
import type { CallerLimits, LimitSettings, ModelLimits, OwnLimits } from "./settings.js";
import type { Counter } from "./store.js";

/** One limit. */
export interface Rule {
  readonly quantity: Quantity;
  /** Whose calls are counted together. */
  readonly scope: "caller" | "caller_model" | "user" | "team" | "team_model" | "model" | "global";
  /** Of the user, the team or the model (of a caller's or a team's, too), also with a `*`; empty in other scopes. */
  readonly name: string;
  readonly counter: Counter;
  /** The limit and its scope in words: `600 requests per minute for this caller`. */
  readonly words: string;
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
  readonly #users = new Recent<
    string,
    { own: CallerLimits | undefined; team: CallerLimits | undefined; rules: readonly Rule[] }
  >(mostRemembered);
  /** Of the entries of models those that have limits of each caller; empty: none has. */
  readonly #ofEach: readonly ModelLimits[];
  /** By `pairOf` caller and model. */
  readonly #pairs = new Recent<string, readonly Rule[]>(mostRemembered);
  /** Whether any team has limits of some models. */
  readonly #ofTeamsModels: boolean;
  /** By `pairOf` team and model. */
  readonly #teamPairs = new Recent<string, readonly Rule[]>(mostRemembered);
  readonly #ofTeams: ReadonlyMap<string, OwnLimits>;
  readonly #callers = new Recent<string, { limits: OwnLimits | undefined; rules: readonly Rule[] }>(
    mostRemembered,
  );

  constructor(settings: LimitSettings) {
    this.#settings = settings;
    this.#ofEach = settings.models.filter(({ caller }) => caller);
    this.#ofTeamsModels =
      settings.models.some(({ team }) => team) ||
      (settings.teams ?? []).some(({ models = [] }) => models.length > 0);
    this.#ofTeams = new Map(settings.teams?.map(({ team, ...limits }) => [team, limits]));
    this.#global = rulesOf(settings.global, {
      ...{ scope: "global", name: "", key: scopes.gateway, words: "for this gateway" },
    });
  }

  /**
   * The rules for a call; empty: nothing limits it.
   * @param user whom it is for; absent: it names nobody
   */
  for(caller: Caller | undefined, user: string | undefined, model: string): readonly Rule[] {
    const ofWhom = this.#ofWhom(caller, user);
    const ofModel = this.#settings.models.length === 0 ? none : this.#ofModel(model);
    const ofPair = caller && this.#ofEach.length > 0 ? this.#ofPair(caller.id, model) : none;
    const ofTeamPair =
      caller?.team !== undefined && this.#ofTeamsModels
        ? this.#ofTeamPair(caller.team, model)
        : none;
    if (ofPair.length + ofTeamPair.length + ofModel.length + this.#global.length === 0) {
      return ofWhom;
    }
    return [...ofWhom, ...ofPair, ...ofTeamPair, ...ofModel, ...this.#global];
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
  ): readonly Rule[] {
    const ofPairs = caller ? this.#ofEach.filter(({ model }) => mayUse(model)) : [];
    const team = caller?.team;
    const ofTeamPairs =
      team === undefined
        ? []
        : modelsOfTeam(this.#settings, team).filter(({ model }) => mayUse(model));
    return [
      ...this.#ofWhom(caller, user),
      ...ofPairs.flatMap((entry) => rulesOfPair(caller?.id ?? "", entry)),
      ...ofTeamPairs.flatMap((entry) => rulesOfTeamPair(team ?? "", entry)),
      ...this.#settings.models.filter(({ model }) => mayUse(model)).flatMap(rulesOfModel),
      ...this.#global,
    ];
  }

  /** Of the caller, its end user and its team. */
  #ofWhom(caller: Caller | undefined, user: string | undefined): readonly Rule[] {
    if (!caller) return none;
    const own = this.#ofCaller(caller);
    const ofUser = user ? this.#ofUser(caller, user) : none;
    const ofTeam = caller.team === undefined ? none : this.#ofTeam(caller.team);
    return ofUser.length + ofTeam.length === 0 ? own : [...own, ...ofUser, ...ofTeam];
  }

  #ofCaller({ id, limits }: Caller): readonly Rule[] {
    const everyone = this.#settings.caller;
    if (!limits && !everyone) return none;
    const known = this.#callers.get(id);
    if (known && known.limits === limits) return known.rules;
    const rules = rulesOf(merged(everyone, limits), {
      ...{ scope: "caller", name: "", key: scopes.caller(id), words: "for this caller" },
    });
    this.#callers.set(id, { limits, rules });
    return rules;
  }

  #ofUser({ id, limits, team: its }: Caller, user: string): readonly Rule[] {
    const everyone = this.#settings.user;
    const own = limits?.user;
    const team = its === undefined ? undefined : this.#ofTeams.get(its)?.user;
    if (!own && !team && !everyone) return none;
    const pair = pairOf(id, user);
    const known = this.#users.get(pair);
    if (known && known.own === own && known.team === team) return known.rules;
    const rules = rulesOf(merged(merged(everyone, team), own), {
      ...{ scope: "user", name: user, key: scopes.user(id, user), words: "for this user" },
    });
    this.#users.set(pair, { own, team, rules });
    return rules;
  }

  #ofTeam(team: string): readonly Rule[] {
    const known = this.#teams.get(team);
    if (known) return known;
    const limits = merged(this.#settings.team, this.#ofTeams.get(team));
    const words = `for the team ${JSON.stringify(team)}`;
    const rules = rulesOf(limits, { scope: "team", name: team, key: scopes.team(team), words });
    this.#teams.set(team, rules);
    return rules;
  }

  #ofPair(id: string, model: string): readonly Rule[] {
    const pair = pairOf(id, model);
    const known = this.#pairs.get(pair);
    if (known) return known;
    const rules = this.#ofEach
      .filter((entry) => fits(entry.model, model))
      .flatMap((entry) => rulesOfPair(id, entry));
    this.#pairs.set(pair, rules);
    return rules;
  }

  #ofTeamPair(team: string, model: string): readonly Rule[] {
    const pair = pairOf(team, model);
    const known = this.#teamPairs.get(pair);
    if (known) return known;
    const rules = modelsOfTeam(this.#settings, team)
      .filter((entry) => fits(entry.model, model))
      .flatMap((entry) => rulesOfTeamPair(team, entry));
    this.#teamPairs.set(pair, rules);
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
  const { model: name } = entry;
  const words = `for the ${modelsInWords(name)}`;
  return rulesOf(entry, { scope: "model", name, key: scopes.model(name), words });
}

function rulesOfPair(id: string, { model: name, caller }: ModelLimits): Rule[] {
  const words = `for this caller and the ${modelsInWords(name)}`;
  return rulesOf(caller, {
    ...{ scope: "caller_model", name, key: scopes.callerModel(id, name), words },
  });
}

function rulesOfTeamPair(team: string, { model: name, limits }: OfModels): Rule[] {
  const words = `for the team ${JSON.stringify(team)} and the ${modelsInWords(name)}`;
  return rulesOf(limits, {
    ...{ scope: "team_model", name, key: scopes.teamModel(team, name), words },
  });
}

const modelsInWords = (name: string) =>
  `${name.includes("*") ? "models" : "model"} ${JSON.stringify(name)}`;

const estimates: ReadonlySet<Quantity> = new Set<Quantity>(["tokens", "images", "spend"]);

const many = (n: number | undefined, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;

const minute = { type: "sliding", ms: 60_000 } as const;
const day = { type: "calendar", period: "day" } as const;
const running = { type: "running" } as const;

interface Whose extends Pick<Rule, "scope" | "name" | "words"> {
  /** One of `scopes`. */
  readonly key: string;
}

function rulesOf(
  limits: CallerLimits | undefined,
  { scope, name, key: whose, words }: Whose,
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
      name,
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
    const what =
      period === "lifetime"
        ? `a lifetime budget of ${amount}`
        : `a budget of ${amount} per ${period}`;
    add("spend", { type: "calendar", period }, limit, what);
  }
  return rules;
}
