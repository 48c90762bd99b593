/** The targets of one call: which of them it may still go to, and what is said where there is none. */
import type { LintelError } from "../errors.js";
import { choose } from "./choose.js";
import { lastWord } from "./last-word.js";
import type { Target } from "./target.js";

/** What remains of a call's targets, attempt after attempt. */
export class Candidates {
  readonly all: readonly Target[];
  readonly #affinity: string | undefined;
  readonly #random: () => number;
  readonly #patient: boolean;
  /** Those that would leave out what others can do: asked where no other one is there. */
  #lesser: ReadonlySet<Target> | undefined;
  /** Those that were asked. */
  #tried: Set<Target> | undefined;
  /** Those that can't do it, whenever they are asked, and those that are about to leave. */
  #unfit: Set<Target> | undefined;
  /** Why the last one of these can't. */
  #misfit: LintelError | undefined;
  #failure: LintelError | undefined;

  /**
   * @param targets by tier
   * @param random from 0 to below 1
   * @param patient as of `Choice`
   * @param lesser those that would leave out what others can do; absent: none
   */
  constructor(
    targets: readonly Target[],
    affinity: string | undefined,
    random: () => number,
    patient: boolean,
    lesser?: ReadonlySet<Target>,
  ) {
    this.all = targets;
    this.#patient = patient;
    this.#affinity = affinity;
    this.#random = random;
    this.#lesser = lesser;
  }

  /** A target with room: one that was not asked yet; else, one that may be asked again. */
  choose(now: number): Target | "full" | undefined {
    const chosen = this.#preferred(now, this.#passed());
    const none = chosen === undefined || chosen === "full" || chosen.endpoint.health.isAway(now);
    return none && this.#tried ? this.#preferred(now, this.#unfit) : chosen;
  }

  /** A healthy one with room, besides those that are being asked. */
  second(now: number, asked: readonly Target[]): Target | undefined {
    const without = new Set([...(both(this.#passed(), this.#lesser) ?? []), ...asked]);
    const chosen = choose(this.all, { now, random: this.#random, without });
    if (chosen === "full" || !chosen?.endpoint.usable(now)) return undefined;
    // One that may be away is no help against one that is slow.
    return chosen.endpoint.health.circuit.out ? undefined : chosen;
  }

  /** Whether one that was not asked yet takes calls, besides this one. */
  hasOther(target: Target, now: number): boolean {
    const without = new Set(this.#passed()).add(target);
    return this.#choose(now, without) !== undefined;
  }

  /** Those that could do what is asked. */
  fit(): Target[] {
    return this.all.filter((target) => !this.#unfit?.has(target));
  }

  /** Where it is waited for room: at those that leave nothing out, where one of them takes calls. */
  awaited(now: number): Target[] {
    const fit = this.fit();
    const better = fit.filter((target) => !this.#lesser?.has(target));
    return better.some(({ endpoint }) => endpoint.usable(now)) ? better : fit;
  }

  /**
   * From now on those that leave something out are as good as all others.
   * @returns whether they were not before
   */
  settle(): boolean {
    const some = this.#lesser !== undefined;
    this.#lesser = undefined;
    return some;
  }

  wasTried(target: Target): boolean {
    return this.#tried?.has(target) === true;
  }

  /** It can't do what is asked; nothing was begun. */
  unfit(target: Target, why: LintelError): void {
    this.#misfit = why;
    this.#unfit = (this.#unfit ?? new Set()).add(target);
  }

  /** It was asked, and failed. */
  failed(target: Target, failure: LintelError): void {
    this.#failure = failure;
    this.#tried = (this.#tried ?? new Set()).add(target);
    const { retry, leaving } = failure;
    const done = retry === "elsewhere" || retry === "doubtful" || leaving;
    if (done) this.#unfit = (this.#unfit ?? new Set()).add(target);
  }

  /** What the caller sees where no attempt follows. */
  lastWord(now: number): LintelError {
    const fit = this.fit();
    if (fit.length === 0 && !this.#failure && this.#misfit) return this.#misfit;
    return lastWord(this.#failure, fit, now);
  }

  /** One of those that leave nothing out, where such a one is there. */
  #preferred(now: number, without: Some): Target | "full" | undefined {
    if (this.#lesser) {
      const better = this.#choose(now, both(without, this.#lesser));
      if (better === "full" || (better && !better.endpoint.health.isAway(now))) return better;
    }
    return this.#choose(now, without);
  }

  #choose(now: number, without: Some): Target | "full" | undefined {
    return choose(this.all, {
      now,
      random: this.#random,
      affinity: this.#affinity,
      without,
      patient: this.#patient,
    });
  }

  #passed(): Some {
    return both(this.#tried, this.#unfit);
  }
}

type Some = ReadonlySet<Target> | undefined;

const both = (some: Some, others: Some): Some =>
  some && others ? new Set([...some, ...others]) : (some ?? others);
