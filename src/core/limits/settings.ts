/** What an operator can limit. */

/** How long a budget can last before it is full again; calendar periods by the gateway's time zone. A `lifetime` never ends. */
export const budgetPeriods = ["hour", "day", "week", "month", "lifetime"] as const;

/** One of them. */
export type BudgetPeriod = (typeof budgetPeriods)[number];

/** How much may be spent. */
export interface Budget {
  /** In the unit that the price table is written in. 0 allows nothing that has a price. */
  readonly amount: number;
  readonly period: BudgetPeriod;
}

/**
 * Limits of one caller, one of its users, one team, one model or all calls together. What is absent is not
 * limited here. `Infinity` says so in so many words: for a caller it lifts what
 * the configuration gives to every caller, for a team what it gives to every team.
 */
export interface CallerLimits {
  /** Calls that may begin in any 60 seconds. */
  readonly requestsPerMinute?: number | undefined;
  /** Tokens, of prompts and completions together, in any 60 seconds. */
  readonly tokensPerMinute?: number | undefined;
  /** Images in one day, by the gateway's time zone. */
  readonly imagesPerDay?: number | undefined;
  /** Calls that may run at the same time. */
  readonly concurrent?: number | undefined;
  readonly budget?: Budget | undefined;
}

/** What a caller or a team has of its own. */
export interface OwnLimits extends CallerLimits {
  /** Of each end user of the caller, or of each of its members: they replace those of every user, one by one. */
  readonly user?: CallerLimits | undefined;
}

/** Limits of the models that a name or a pattern with one `*` fits, counted together. */
export interface ModelLimits extends CallerLimits {
  readonly model: string;
  /** Of what each caller asks of these models; besides all others, which replace none of them. */
  readonly caller?: CallerLimits | undefined;
  /** Of what each team asks of these models, in the same way. */
  readonly team?: CallerLimits | undefined;
}

/** Limits of a team: of its members' calls, counted together; those of end users hold for each user of each member. */
export interface TeamLimits extends OwnLimits {
  /** `Caller.team`. */
  readonly team: string;
  /** Of what it asks of some models; those of the same name that each team has are replaced one by one. */
  readonly models?: readonly Omit<ModelLimits, "caller" | "team">[] | undefined;
}

/** All limits of a configuration. */
export interface LimitSettings {
  /** Of all calls together. */
  readonly global?: CallerLimits | undefined;
  /** Of each caller; a caller's own replace these, one by one. */
  readonly caller?: CallerLimits | undefined;
  /**
   * Of each end user of each caller, by `Attributes.user`; those of a team, and of a caller before these, replace
   * them, one by one. Calls that name nobody have none of these.
   */
  readonly user?: CallerLimits | undefined;
  /** Of each team; a team's own replace these, one by one. */
  readonly team?: CallerLimits | undefined;
  /** Of teams that have their own. A team's members have their callers' limits besides. */
  readonly teams?: readonly TeamLimits[] | undefined;
  /** Of models, whoever calls. All entries that fit a call apply. */
  readonly models: readonly ModelLimits[];
}

/** Targets whose answers have a price of their own. What is absent is any. */
export interface PricedTarget {
  /** Its name. */
  readonly backend?: string | undefined;
  /** What the backend calls the model; a name, or a pattern with one `*`. */
  readonly model?: string | undefined;
}

/** What tokens cost. */
export interface TokenRates {
  /** Per million tokens of prompts. Default 0. */
  readonly input?: number | undefined;
  /** Per million of those that the model server had in a cache. Default: as `input`. */
  readonly cachedInput?: number | undefined;
  /** Per million of those that it wrote to a cache. Default: as `input`. */
  readonly cacheWriteInput?: number | undefined;
  /** Per million of those of these that are kept for an hour. Default: as `cacheWriteInput`. */
  readonly cacheWrite1hInput?: number | undefined;
  /** Per million tokens of completions. Default 0. */
  readonly output?: number | undefined;
}

/** Of tiers of service: rates without `undefined`, each in the place of the ordinary one. */
export interface TierRates {
  readonly flex?: TokenRates | undefined;
  readonly priority?: TokenRates | undefined;
}

/** What models cost. The first entry that fits a call counts. */
export interface Price extends TokenRates {
  /** Name, or pattern with one `*`. */
  readonly model: string;
  /** Of calls that one of these answers. Default: of all. */
  readonly target?: PricedTarget | undefined;
  /** Of calls whose prompts have more tokens than this. Default: of all. */
  readonly promptAbove?: number | undefined;
  /** Per image. Default 0. */
  readonly image?: number | undefined;
  /** What is another rate in another tier of service. Of one that is absent no call is made. */
  readonly tiers?: TierRates | undefined;
}
