/** Lets a call through as long as its caller, its user, its model and the gateway keep their limits. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call, Handle, Middleware } from "../call.js";
import type { Attributes } from "../call-attributes.js";
import { LintelError } from "../errors.js";
import { deferred } from "../iterate.js";
import { isConversation, isCoreMethod } from "../methods.js";
import { longestPauseMs } from "../patience.js";
import type { Bounds } from "../settings.js";
import { takenBy } from "../settle.js";
import type { AlertParts } from "./alerts.js";
import type { Budgets, Claimed } from "./budgets.js";
import { demandOf } from "./demand.js";
import { tellStandings } from "./headers.js";
import { type Amounts, costOf, isConditional, priceOf, type Served } from "./prices.js";
import type { Rule, Rules } from "./rules.js";
import type { LimitSettings, Price } from "./settings.js";
import type { Claim, LimitStore, Reservation, Verdict } from "./store.js";

/** What is limited, and where it is counted. */
export interface LimitParts {
  readonly settings: LimitSettings;
  /** First match counts; a model without an entry costs nothing. */
  readonly prices: readonly Price[];
  readonly store: LimitStore;
  /** Who is told of budgets that are nearly used up; absent: nobody. */
  readonly alerts?: AlertParts | undefined;
  /** By which budgets' periods end in metrics, milliseconds since the epoch. Default: the system's. */
  readonly clock?: (() => number) | undefined;
}

/** What the step needs. */
export interface LimitStepParts extends Pick<LimitParts, "prices" | "store"> {
  readonly rules: Rules;
  readonly budgets: Budgets;
  /** Of request fields. */
  readonly bounds: Bounds;
}

/**
 * A wait longer than this is told to clients as not worth it, milliseconds: a minute, and the second
 * by which what was counted may leave later.
 */
const longestRetry = 61_000;

/**
 * Counts each call when it begins, by an estimate where it has to be, and puts
 * the count right when it ends, however it ends. Stands after the resolution of
 * the model and outside of whatever counts tokens and images.
 * @throws LintelError `rate_limited`, with the limit and its scope
 */
export function limit({ rules, prices, store, budgets, bounds }: LimitStepParts): Middleware {
  const conditional = prices.some(isConditional);

  const plan = (call: Call, applying: readonly Rule[], model: string): Plan => {
    if (!applying.some(({ counter }) => counter.estimated)) return new Plan(applying, {});
    const demand = demandOf(call, bounds);
    if (!conditional) return new Plan(applying, demand, [priceOf(prices, model, demand) ?? free]);
    const of = (served: Served) => priceOf(prices, model, served) ?? free;
    return new Plan(applying, demand, pricesOf(call, demand, of), of);
  };

  const settle = (
    reservation: Reservation,
    amounts: readonly number[],
    claimed: readonly Claimed[] | undefined,
  ) => {
    store.settle(reservation, amounts);
    if (claimed) budgets.settle(claimed, reservation.claims, amounts);
  };

  const admit = (next: Handle, call: Call, plan: Plan, verdict: Verdict) => {
    const { standings } = verdict;
    tellStandings(plan.rules, standings, call.metadata);
    const seen = plan.spends && !verdict.alone;
    const claimed = seen ? budgets.see(call.caller, plan.rules, standings) : undefined;
    if (!verdict.granted) {
      if (claimed) budgets.refuse(claimed, plan.claims, verdict);
      throw refusal(call, plan, verdict);
    }
    const { reservation } = verdict;
    if (call.signal.aborted) {
      settle(reservation, plan.none(), claimed);
      throw call.signal.reason;
    }
    if (plan.open) {
      const ended = () => settle(reservation, plan.actual(call.attributes), claimed);
      call.life?.onEnd({ ended });
    }
    return next(call);
  };

  return (next) => (call) => {
    if (isCoreMethod(call.method)) return next(call);
    const { model = "", user } = call.attributes;
    const applying = rules.for(call.caller, user, model);
    budgets.begin(call.caller, applying);
    if (applying.length === 0) return next(call);
    const planned = plan(call, applying, model);
    if (planned.claims.length === 0) return next(call);
    const verdict = store.reserve(planned.claims, leftOf(call));
    if (!(verdict instanceof Promise)) return admit(next, call, planned, verdict);
    return deferred(async () => admit(next, call, planned, await verdict));
  };
}

const leftOf = ({ deadline }: Call) =>
  deadline === undefined ? undefined : Math.max(0, deadline - performance.now());

const free: Price = { model: "*" };

/** Of each target that may answer: in the ordinary tier, and in another one that is asked for. */
function pricesOf(
  { targets = [], request }: Call,
  { promptTokens }: Amounts,
  of: (by: Served) => Price,
): Price[] {
  const { serviceTier } = request as Partial<LLMRequest>;
  const prices = new Set<Price>();
  for (const { backend, model } of targets) {
    const served = { backend: backend.name, backendModel: model.id, promptTokens };
    prices.add(of(served));
    if (serviceTier) prices.add(of({ ...served, serviceTier }));
  }
  return [...prices];
}

/** What a call claims of its limits, and what it comes to in the end. */
class Plan {
  /** One for each claim. */
  readonly rules: readonly Rule[];
  readonly claims: readonly Claim[];
  /** Whether there is anything to put right at the end. */
  readonly open: boolean;
  /** Whether it claims of a budget. */
  readonly spends: boolean;
  readonly #demand: Amounts;
  /** Of which the dearest counts until it is known who answers. */
  readonly #prices: readonly Price[];
  /** The price in the end; absent: there is but one. */
  readonly #priceOf: ((by: Served) => Price) | undefined;

  constructor(
    rules: readonly Rule[],
    demand: Amounts,
    prices: readonly Price[] = [],
    priceOf?: (by: Served) => Price,
  ) {
    this.#demand = demand;
    this.#prices = prices;
    this.#priceOf = priceOf;
    const claims: Claim[] = [];
    const claiming: Rule[] = [];
    let open = false;
    let spends = false;
    for (const rule of rules) {
      const amount = this.#amountOf(rule, demand);
      if (amount === 0) continue;
      claims.push({ counter: rule.counter, amount });
      claiming.push(rule);
      if (rule.quantity === "spend") spends = true;
      if (rule.counter.estimated || rule.quantity === "concurrent") open = true;
    }
    this.rules = claiming;
    this.claims = claims;
    this.open = open;
    this.spends = spends;
  }

  /** What the call took, as far as it got. */
  actual(attributes: Attributes): number[] {
    const taken = takenBy(attributes);
    const prices = this.#priceOf ? [this.#priceOf(attributes)] : this.#prices;
    return this.rules.map((rule) => this.#amountOf(rule, taken, prices));
  }

  /** What a call took that never ran: it was made all the same. */
  none(): number[] {
    return this.claims.map(({ counter, amount }) => (counter.estimated ? 0 : amount));
  }

  /** Whether the prompt alone is more than there is of a limit. */
  isLongPrompt(rule: Rule, most: number): boolean {
    const { promptTokens } = this.#demand;
    return this.#amountOf(rule, { promptTokens }) > most;
  }

  #amountOf({ quantity }: Rule, amounts: Amounts, prices = this.#prices): number {
    switch (quantity) {
      case "requests":
      case "concurrent":
        return 1;
      case "tokens":
        return (amounts.promptTokens ?? 0) + (amounts.completionTokens ?? 0);
      case "images":
        return amounts.images ?? 0;
      case "spend":
        return prices.reduce((most, price) => Math.max(most, costOf(price, amounts)), 0);
    }
  }
}

function refusal(
  call: Call,
  plan: Plan,
  { refused, standings, waitMs }: Extract<Verdict, { granted: false }>,
): LintelError {
  const rule = plan.rules[refused];
  if (rule) {
    call.attributes.refusedBy = { quantity: rule.quantity, scope: rule.scope };
  }
  const words = rule?.words ?? "";
  const left = standings[refused]?.remaining ?? 0;
  // OpenAI's clients come again by themselves: to no purpose, or when it is time. Who comes a second early is told of that second.
  if (waitMs > longestRetry) call.metadata.set("x-should-retry", "false");
  else call.metadata.set("retry-after-ms", `${Math.min(Math.ceil(waitMs), longestPauseMs)}`);
  if (waitMs === Number.POSITIVE_INFINITY) {
    // Of nothing no request can take less.
    if (!rule?.counter.limit) {
      return new LintelError("rate_limited", `limit reached: ${words}`, { retryAfter: 3600 });
    }
    // Of a lifetime what is used never comes back, so that waiting helps nobody.
    const alone = (plan.claims[refused]?.amount ?? 0) > rule.counter.limit;
    if (!alone && left === 0) {
      const message = `limit reached: ${words}; it is used up, and does not begin anew`;
      return new LintelError("rate_limited", message, { retryAfter: 3600 });
    }
    const message = alone
      ? `limit reached: this request alone may take more than ${words}; ask for less`
      : `limit reached: this request may take more than is left of ${words}, which does not begin anew; ask for less`;
    const ofChat = plan.isLongPrompt(rule, alone ? rule.counter.limit : left)
      ? "messages"
      : "max_tokens";
    const param = isConversation(call.method) ? ofChat : "num_images_per_prompt";
    return new LintelError("rate_limited", message, { param, retryAfter: 3600 });
  }
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000));
  if (rule?.quantity === "images" && left > 0) {
    const message = `limit reached: ${words}, ${left} left; ask for less, or try again in ${retryAfter} s`;
    return new LintelError("rate_limited", message, { param: "num_images_per_prompt", retryAfter });
  }
  const message = `limit reached: ${words}; try again in ${retryAfter} s`;
  return new LintelError("rate_limited", message, { retryAfter });
}
