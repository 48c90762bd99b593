/** Which target gets a call. */
import type { Target } from "./target.js";

/** What the choice depends on besides the targets. */
export interface Choice {
  readonly now: number;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Calls with the same key go to the same target while it is there. */
  readonly affinity?: string | undefined;
  /** Targets that are passed over. */
  readonly without?: ReadonlySet<Target> | undefined;
  /** Whether to wait, rather than to go nowhere, for what comes of the call that tries one that is out. */
  readonly patient?: boolean | undefined;
}

/**
 * Chooses among the targets of the first tier where one is healthy and has room; those that keep refusing
 * come after all others.
 * @param targets by tier
 * @returns `"full"`: healthy ones there are, with room none; where no healthy one is, the same of
 *   those that said they are about to leave, or whose health check fails; where no such one is, and the
 *   call is patient, one is tried just now; `undefined`: nothing of all that
 */
export function choose(targets: readonly Target[], choice: Choice): Target | "full" | undefined {
  for (const { endpoint } of targets) {
    if (endpoint.refusals.waits(choice.now)) return chooseRather(targets, choice);
  }
  return chooseAmong(targets, choice);
}

/** One that does not keep refusing, where such a one takes calls. */
function chooseRather(targets: readonly Target[], choice: Choice): Target | "full" | undefined {
  const { now, without } = choice;
  const refusing = targets.filter(({ endpoint }) => endpoint.refusals.waits(now));
  const passed = new Set([...(without ?? []), ...refusing]);
  const other = chooseAmong(targets, { ...choice, without: passed });
  const takes = other !== undefined && other !== "full" && other.endpoint.usable(now);
  return takes ? other : chooseAmong(targets, choice);
}

function chooseAmong(targets: readonly Target[], choice: Choice): Target | "full" | undefined {
  const { now, without, affinity, random, patient } = choice;
  let full = false;
  let tried = false;
  let candidates: Target[] | undefined;
  let only: Target | undefined;
  let last: Target | "full" | undefined;
  for (const target of targets) {
    if (only && target.tier !== only.tier) break;
    if (without?.has(target)) continue;
    if (!target.endpoint.usable(now)) {
      if (isRather(target, last, now)) last = target.endpoint.hasRoom(now) ? target : "full";
      tried ||= target.endpoint.health.circuit.tried;
      continue;
    }
    if (!target.endpoint.hasRoom(now)) full = true;
    else if (!only) only = target;
    else {
      candidates ??= [only];
      candidates.push(target);
    }
  }
  if (!only) return full ? "full" : (last ?? (patient && tried ? "full" : undefined));
  if (!candidates) return only;
  return affinity === undefined
    ? lessBusy(candidates, random)
    : keeper(withoutBusy(candidates), affinity);
}

/** Whether a target is asked rather than the last one, or nobody. Those with room come first. */
function isRather(target: Target, last: Target | "full" | undefined, now: number): boolean {
  const resort = target.endpoint.lastResort(now);
  if (resort === undefined || last === undefined || last === "full") return resort !== undefined;
  return target.endpoint.hasRoom(now) && resort < (last.endpoint.lastResort(now) ?? resort);
}

/** The less busy of two that chance picks by weight. */
function lessBusy(candidates: readonly Target[], random: () => number): Target {
  const first = pick(candidates, random);
  const second = pick(candidates, random, first);
  return load(second) < load(first) ? second : first;
}

const load = ({ endpoint, weight }: Target) => endpoint.inFlight / weight;

function pick(candidates: readonly Target[], random: () => number, but?: Target): Target {
  let sum = 0;
  for (const candidate of candidates) if (candidate !== but) sum += candidate.weight;
  let left = random() * sum;
  let last = candidates[0] as Target;
  for (const candidate of candidates) {
    if (candidate === but) continue;
    last = candidate;
    left -= candidate.weight;
    if (left < 0) break;
  }
  return last;
}

/** A target with more requests than half as many again as its share, and so many, is too busy for a session of its. */
const evenSo = 4;

/** Those that aren't much busier than the others: what a target has of a prompt is not worth a queue. */
function withoutBusy(candidates: readonly Target[]): readonly Target[] {
  let requests = 0;
  let weights = 0;
  for (const { endpoint, weight } of candidates) {
    requests += endpoint.inFlight;
    weights += weight;
  }
  return candidates.filter(
    ({ endpoint, weight }) => endpoint.inFlight <= (1.5 * requests * weight) / weights + evenSo,
  );
}

/**
 * The target that a key belongs to, by weighted rendezvous hashing: when one
 * leaves, only its own keys move, and they come back with it.
 */
function keeper(candidates: readonly Target[], key: string): Target {
  let best = candidates[0] as Target;
  let highest = Number.NEGATIVE_INFINITY;
  for (const candidate of candidates) {
    const { endpoint, weight } = candidate;
    const score = -weight / Math.log(hash(`${endpoint.backend}\n${endpoint.model}\n${key}`));
    if (score <= highest) continue;
    best = candidate;
    highest = score;
  }
  return best;
}

/** Above 0 and below 1, evenly spread: FNV-1a, then MurmurHash3's last steps. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (((h ^ (h >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}
