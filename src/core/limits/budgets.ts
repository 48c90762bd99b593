/** How much of each budget is used, as decisions about calls told last: for metrics. Nobody is asked for it. */
import { isDeepStrictEqual } from "node:util";
import type { Caller } from "../call.js";
import type { CallerSource } from "../callers/source.js";
import { Recent } from "../recent.js";
import type { AuthSettings } from "../settings.js";
import type { BudgetAlerts, Watched } from "./alerts.js";
import { type BudgetUse, fullest } from "./budget-use.js";
import { sameEndMs } from "./period.js";
import { unit } from "./prices.js";
import type { Rule, Rules } from "./rules.js";
import type { OwnLimits } from "./settings.js";
import type { Claim, Standing, Verdict } from "./store.js";

/** What budgets are held against when a configuration takes the place of another. */
export interface BudgetsParts {
  readonly rules: Rules;
  readonly auth: AuthSettings;
  readonly callers?: readonly CallerSource[] | undefined;
  /** Who is told of those that are nearly used up; absent: nobody. */
  readonly alerts?: BudgetAlerts | undefined;
  /** Milliseconds since the epoch. Default: the system's. */
  readonly clock?: (() => number) | undefined;
}

/** A budget that was seen. */
interface Entry extends Watched {
  /** A caller's own, as of its last call. */
  limits: OwnLimits | undefined;
  limit: number;
  used: number;
  endsAt: number;
}

/** A budget that a call claimed of, by the position of the claim. */
export interface Claimed {
  readonly claim: number;
  readonly entry: Entry;
  /** Of the period that it was claimed in. */
  readonly endsAt: number;
}

/** Callers, teams, and either with the entry of some models, whose budgets are remembered; those that were called for last stay. */
const mostRemembered = 10_000;

/** Budgets of callers, teams and what they ask of some models that are told, those that are fullest: each is a series. */
const mostTold = 1000;

/** The budgets of a configuration, but for those of end users, and of callers whom nobody knows. */
export class Budgets {
  readonly #parts: BudgetsParts;
  readonly #now: () => number;
  /** Of the gateway and of models, by their counters: as many as the configuration has. */
  readonly #shared = new Map<string, Entry>();
  /** By name. */
  readonly #teams = new Recent<string, Entry>(mostRemembered);
  /** By `Caller.id`. */
  readonly #callers = new Recent<string, Entry>(mostRemembered);
  /** Of what callers and teams ask of some models, by their counters. */
  readonly #pairs = new Recent<string, Entry>(mostRemembered);
  /**
   * Callers', by their counters, of configurations before that gave callers other limits: what was told of them is
   * not told anew.
   */
  readonly #former = new Recent<string, Entry>(mostRemembered);
  /** Whether any caller's was seen. */
  #ofCallers = false;

  constructor(parts: BudgetsParts) {
    this.#parts = parts;
    this.#now = parts.clock ?? Date.now;
  }

  /**
   * A caller begins a call: the budget that its token had before may be gone.
   * @param rules all that apply to the call
   */
  begin(caller: Caller | undefined, rules: readonly Rule[]): void {
    if (!this.#ofCallers || !caller) return;
    const entry = this.#callers.get(caller.id);
    if (!entry || rules.some(({ counter }) => counter.key === entry.key)) return;
    this.#callers.delete(caller.id);
  }

  /**
   * Notes down what a decision told.
   * @param rules one for each standing
   * @returns what `settle` needs
   */
  see(
    caller: Caller | undefined,
    rules: readonly Rule[],
    standings: readonly Standing[],
  ): readonly Claimed[] {
    const claimed: Claimed[] = [];
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i] as Rule;
      const standing = standings[i];
      // Of a budget of nothing there is nothing to use up.
      if (rule.quantity !== "spend" || !standing || rule.counter.limit === 0) continue;
      const entry = this.#entryOf(rule, caller);
      if (!entry) continue;
      entry.limit = rule.counter.limit;
      entry.used = entry.limit - standing.remaining;
      entry.endsAt = this.#now() + standing.resetMs;
      claimed.push({ claim: i, entry, endsAt: entry.endsAt });
    }
    return claimed;
  }

  /**
   * A call ended: what it had reserved and did not take is not used.
   * @param amounts what it took, in the order of its claims
   */
  settle(claimed: readonly Claimed[], claims: readonly Claim[], amounts: readonly number[]): void {
    for (const { claim, entry, endsAt } of claimed) {
      const { amount = 0 } = claims[claim] ?? {};
      // What was reserved in a period that has ended counts in it alone.
      if (Math.abs(entry.endsAt - endsAt) > sameEndMs) continue;
      entry.used = Math.max(0, entry.used + (amounts[claim] ?? amount) - amount);
      this.#parts.alerts?.look(entry, false);
    }
  }

  /** A call was refused, maybe for a budget that has too little left. */
  refuse(
    claimed: readonly Claimed[],
    claims: readonly Claim[],
    { refused, standings, waitMs }: Extract<Verdict, { granted: false }>,
  ): void {
    const { alerts } = this.#parts;
    const { amount = 0, counter } = claims[refused] ?? {};
    const { resetMs = 0 } = standings[refused] ?? {};
    // Not one that alone is more than all of it, nor one that only calls which run are in the way of.
    if (!alerts || !counter || amount > counter.limit || waitMs < resetMs) return;
    const its = claimed.find(({ claim }) => claim === refused);
    if (its) alerts.look(its.entry, true);
  }

  /** Each budget whose period has not ended. Of callers, teams and what they ask of some models together the fullest 1000. */
  snapshot(): BudgetUse[] {
    const now = this.#now();
    const own: BudgetUse[] = [];
    for (const all of [this.#teams, this.#callers, this.#pairs]) {
      for (const [key, entry] of [...all.entries()]) {
        if (entry.endsAt > now) own.push(useOf(entry));
        else all.delete(key);
      }
    }
    for (const [key, { endsAt }] of this.#shared) if (endsAt <= now) this.#shared.delete(key);
    const told = own.length > mostTold ? fullest(own, mostTold) : own;
    return [...[...this.#shared.values()].map(useOf), ...told];
  }

  /**
   * Goes on with what was seen under another configuration, of budgets that are in this one, too. What
   * callers' tokens have may have changed along with it: theirs only go on where nothing of that did, but for what
   * was told of them.
   */
  takeOver(former: Budgets): void {
    const { rules, auth, callers = [] } = this.#parts;
    const keep = (entry: Entry, found: readonly Rule[]): boolean => {
      const rule = found.find(({ counter }) => counter.key === entry.key);
      if (rule) entry.limit = rule.counter.limit;
      return rule !== undefined && entry.limit > 0;
    };
    const shared = rules.ofAll(undefined, "", () => true);
    for (const [key, entry] of former.#shared) {
      if (keep(entry, shared)) this.#shared.set(key, entry);
    }
    const none = () => false;
    for (const [team, entry] of former.#teams.entries()) {
      if (keep(entry, rules.ofAll({ id: "", team }, "", none))) this.#teams.set(team, entry);
    }
    for (const [key, entry] of former.#pairs.entries()) {
      const { caller: id = "", team } = entry;
      const found = rules.ofAll({ id, team }, "", () => true);
      if (keep(entry, found)) this.#pairs.set(key, entry);
    }
    for (const [key, entry] of former.#former.entries()) this.#former.set(key, entry);
    const { auth: before, callers: known = [] } = former.#parts;
    const same = known.length === callers.length && known.every((one, i) => one === callers[i]);
    if (!same || !isDeepStrictEqual(before, auth)) {
      for (const [, entry] of former.#callers.entries()) {
        if (entry.told) this.#former.set(entry.key, entry);
      }
      return;
    }
    for (const [id, entry] of former.#callers.entries()) {
      if (!keep(entry, rules.ofAll({ id, limits: entry.limits }, "", none))) continue;
      this.#callers.set(id, entry);
      this.#ofCallers = true;
    }
  }

  #pairOf(
    scope: Entry["scope"],
    { name, counter }: Rule,
    caller: string | undefined,
    team: string | undefined,
  ): Entry | undefined {
    const entry = this.#pairs.get(counter.key) ?? entryOf(scope, name, counter, { caller, team });
    if (entry) this.#pairs.set(counter.key, entry);
    return entry;
  }

  /** What there is of a budget; made if it was not seen. */
  #entryOf(rule: Rule, caller: Caller | undefined): Entry | undefined {
    const { scope, name, counter } = rule;
    switch (scope) {
      case "user":
        return undefined;
      case "caller_model": {
        if (caller?.token === undefined) return undefined;
        return this.#pairOf(scope, rule, caller.id, undefined);
      }
      case "team_model":
        return this.#pairOf(scope, rule, undefined, caller?.team);
      case "caller": {
        // Whoever makes up a bearer token is a caller of its own.
        if (caller?.token === undefined) return undefined;
        this.#ofCallers = true;
        const entry = this.#callers.get(caller.id);
        const its = entry?.key === counter.key ? entry : entryOf(scope, caller.id, counter);
        if (its && its !== entry) {
          its.told = this.#former.get(counter.key)?.told;
          this.#callers.set(caller.id, its);
        }
        if (its) its.limits = caller.limits;
        return its;
      }
      case "team": {
        const entry = this.#teams.get(name) ?? entryOf(scope, name, counter);
        if (entry) this.#teams.set(name, entry);
        return entry;
      }
      default: {
        const known = this.#shared.get(counter.key);
        if (known) return known;
        const entry = entryOf(scope, name, counter);
        if (entry) this.#shared.set(counter.key, entry);
        return entry;
      }
    }
  }
}

function entryOf(
  scope: Entry["scope"],
  name: string,
  { key, limit, span }: Claim["counter"],
  { caller, team }: Pick<BudgetUse, "caller" | "team"> = {},
): Entry | undefined {
  if (span.type !== "calendar") return undefined;
  const { period } = span;
  const unseen = { limits: undefined, used: 0, endsAt: 0, told: undefined };
  return { scope, name, caller, team, period, key, limit, ...unseen };
}

const useOf = ({ scope, name, caller, team, period, used, limit, endsAt }: Entry): BudgetUse => ({
  scope,
  name,
  caller,
  team,
  period,
  ratio: used / limit,
  amount: limit / unit,
  used: used / unit,
  endsAt: Number.isFinite(endsAt) ? endsAt : undefined,
});
