/** OpenAI's marks for its cache of prompts, which stand at parts of messages, to the contract's. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject, withMembers } from "../../core/json.js";
import { fields } from "../json/known.js";

/** A part's mark. */
const breakpoint = "prompt_cache_breakpoint";
/** What a request says of all of them. */
const options = "prompt_cache_options";

/** A mark as the contract has it, which clients of OpenAI's APIs send, too. */
const own = "cache_control";

/** What is read of a part's mark. */
export const breakpointFields = {
  [breakpoint]: fields({ mode: true, ttl: true }),
  [own]: fields({ type: true, ttl: true }),
};

/** What is read of a request. */
export const cacheOptionFields = {
  [options]: fields({ ttl: true, prewarm: true, comparison_response_id: true }),
};

/** Whether a part is marked. */
export const isMarked = (part: unknown): part is JsonObject =>
  isObject(part) && (part[breakpoint] != null || part[own] != null);

/** A mark as the contract has it in JSON. */
interface Mark {
  readonly type: "ephemeral";
  ttl?: "5m" | "1h";
}

/** Reads the marks of one request, in the order of the conversation. */
export class Breakpoints {
  /** Gets what is wrong of them, by the client's names. */
  readonly #wrong: Violation[];
  readonly #ttl: Mark["ttl"];
  #marks: Mark[] | undefined;

  constructor({ [options]: said }: JsonObject, wrong: Violation[]) {
    this.#wrong = wrong;
    if (said === undefined || said === null) return;
    if (isObject(said)) this.#ttl = this.#ttlOf(said.ttl, options);
    else wrong.push({ field: options, message: "must be an object" });
  }

  /** What was read of a part, with its mark. */
  onto(read: JsonObject, part: JsonObject, place: string): JsonObject {
    return isMarked(part) ? withMembers(read, this.#of(part, place)) : read;
  }

  /** A part's mark, as a member. A `cache_control` of its own goes before it. */
  #of(part: JsonObject, place: string): { readonly cache_control?: unknown } {
    const { [breakpoint]: said, [own]: mark } = part;
    if (mark !== undefined && mark !== null) return { [own]: mark };
    const at = `${place}.${breakpoint}`;
    if (!isObject(said)) {
      this.#wrong.push({ field: at, message: "must be an object" });
      return {};
    }
    if ((said.mode ?? "explicit") !== "explicit") {
      this.#wrong.push({ field: `${at}.mode`, message: "must be explicit" });
    }
    const ttl = this.#ttlOf(said.ttl, at) ?? this.#ttl;
    const made: Mark = { type: "ephemeral", ...(ttl && { ttl }) };
    this.#marks ??= [];
    this.#marks.push(made);
    return { [own]: made };
  }

  /** All are read. Anthropic refuses a mark for an hour behind one for less, which is nothing to OpenAI. */
  end(): void {
    if (!this.#marks) return;
    const last = this.#marks.findLastIndex(({ ttl }) => ttl === "1h");
    for (const mark of this.#marks.slice(0, last + 1)) mark.ttl = "1h";
  }

  /** For how long, and not less than that where it is up to an hour; `undefined` where nothing is said. */
  #ttlOf(said: unknown, at: string): Mark["ttl"] {
    if (said === undefined || said === null) return undefined;
    const [, count, unit] = (typeof said === "string" && /^(\d{1,6})([mh])$/.exec(said)) || [];
    if (count === undefined) {
      this.#wrong.push({ field: `${at}.ttl`, message: "must be a time such as 30m" });
      return undefined;
    }
    return unit === "m" && Number(count) <= 5 ? "5m" : "1h";
  }
}

/** What becomes of a request's parts besides. */
export interface PartReading {
  readonly breakpoints: Breakpoints;
  /** Gets what is not had of them. */
  readonly warnings: Set<string>;
  /** Hears of a part that the contract has nothing like. @param what it is, or why */
  refuse(place: string, what: string): void;
}
