/** Who asks what was asked before gets the answer of then: no model is asked for it. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type LLMResponse, LLMResponseSchema } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call, Handle, Middleware } from "../call.js";
import { Gathered, inPiece } from "../gathered.js";
import { deferred, iterable, once } from "../iterate.js";
import { isChat } from "../methods.js";
import { lesserFor } from "../routing/lesser.js";
import { type Target, targetOf } from "../routing/target.js";
import type { CacheSettings } from "../settings.js";
import { nowSeconds } from "../stamp.js";
import { Relay } from "../steps.js";
import { type CacheControl, cacheControlOf } from "./control.js";
import { Flights, type Landed } from "./flights.js";
import { questionOf } from "./question.js";
import type { AnswerCache } from "./store.js";

/** What it needs. */
export interface CacheParts {
  readonly store: AnswerCache;
  readonly settings: CacheSettings;
}

type ChatCall = Call & Call<"chat" | "complete">;
type Batch = readonly LLMResponse[];
type Step = IteratorResult<Batch>;

/**
 * Answers completions of models whose answers are kept. Stands behind the limits, since a call counts
 * as one wherever its answer comes from, and within the shaping of answers, which gives each its own id.
 * What is kept is the whole answer: who streams gets it in one piece.
 */
export function cache(parts: CacheParts): Middleware {
  const flights = new Flights();
  return (next) => (call) => {
    if (!isChat(call.method)) return next(call);
    const ttlMs = call.modelSettings?.cacheTtlMs ?? parts.settings.ttlMs ?? 0;
    return ttlMs === 0 ? next(call) : cached(next, call as ChatCall, ttlMs, parts, flights);
  };
}

function cached(
  next: Handle,
  call: ChatCall,
  ttlMs: number,
  { store, settings: { scope, maxAnswerBytes } }: CacheParts,
  flights: Flights,
): AsyncIterable<Batch> {
  const run = next as unknown as (call: ChatCall) => AsyncIterable<Batch>;
  const wanted = cacheControlOf(call.cacheControl);
  if (wanted.noStore) {
    passed(call, "bypass", "request");
    return run(call);
  }
  const name = questionOf(call, scope);
  const keep = (answer: LLMResponse) => {
    const bytes = leftOut(call) ? undefined : encode(call, answer);
    if (bytes && bytes.length <= maxAnswerBytes) store.put(name, bytes, ttlMs);
    return bytes;
  };
  // A stream is passed on as its caller reads it, for which nobody else is to wait.
  const isWhole = call.method === "complete";
  /** Asks the model, and at once: who asks the same from now on is to know. */
  const asked = () => {
    // While something was waited for, its caller may have left.
    call.signal.throwIfAborted();
    const source = run(call)[Symbol.asyncIterator]();
    const land = isWhole ? flights.begin(name) : undefined;
    const messages = new Kept(isWhole, source, maxAnswerBytes, keep, land);
    return iterable(() => messages);
  };
  const answer = (kept: Uint8Array | undefined): AsyncIterable<Batch> => {
    const found = again(call, kept, ttlMs, wanted);
    if (found) return found;
    const landing = isWhole && wanted.maxAge > 0 ? flights.of(name) : undefined;
    return landing ? deferred(() => collapsed(landing)) : asked();
  };
  /** The answer for which another call waits; where that left, of the one that asks in its place. */
  const collapsed = async (landing: Promise<Landed>): Promise<AsyncIterable<Batch>> => {
    let landed = await landing;
    while (landed === "left") {
      const next = flights.of(name);
      if (!next) break;
      landed = await next;
    }
    const found = landed instanceof Uint8Array && again(call, landed, ttlMs, wanted, true);
    return found || asked();
  };
  const kept = wanted.maxAge === 0 ? undefined : store.get(name);
  return kept instanceof Promise
    ? deferred(async () => answer(await kept))
    : iterable(() => answer(kept)[Symbol.asyncIterator]());
}

/** Whether its target left out what others can do: who asks once they are back gets more. */
function leftOut(call: ChatCall): boolean {
  const { targets = [], attributes } = call;
  const last = attributes.tried.findLast(
    ({ outcome }) => outcome === "running" || outcome === "ok",
  );
  // What it can't do may have been found out by this very call.
  const known = targets.map(asKnown);
  const by = targetOf(last, known);
  return by !== undefined && lesserFor(call, known)?.has(by) === true;
}

/** A target with its model as its backend has it now. */
function asKnown(target: Target): Target {
  const model = target.backend.models().find(({ id }) => id === target.model.id);
  return model ? { ...target, model } : target;
}

/** The answer as it is kept: with the time, and with what the gateway said of it. */
function encode({ id, log, warnings }: ChatCall, answer: LLMResponse): Uint8Array | undefined {
  const said = new Set([...warnings, ...answer.warnings]);
  const created = nowSeconds();
  try {
    return toBinary(LLMResponseSchema, { ...answer, created, warnings: [...said] });
  } catch (err) {
    // Its caller gets it all the same.
    log.debug({ id, err }, "an answer could not be kept");
    return undefined;
  }
}

/**
 * What is kept, as the answer of this call; `undefined` where the model has to be asked.
 * @param collapsed whether it was on its way when it was asked for
 */
function again(
  call: ChatCall,
  kept: Uint8Array | undefined,
  ttlMs: number,
  { maxAge }: CacheControl,
  collapsed = false,
): AsyncIterable<Batch> | undefined {
  const found = kept && decode(kept);
  const age = found ? ageOf(found) : Number.POSITIVE_INFINITY;
  const left = Math.ceil(ttlMs / 1000) - age;
  if (!found || left <= 0) {
    if (maxAge === 0) passed(call, "bypass", "request");
    else passed(call, "miss", "miss");
    return undefined;
  }
  if (age > maxAge) {
    passed(call, "bypass", "stale");
    return undefined;
  }
  call.attributes.cache = "hit";
  call.metadata.set(header, `lintel; ${collapsed ? "fwd=miss; collapsed" : `hit; ttl=${left}`}`);
  for (const text of found.warnings) call.warnings.add(text);
  return once(async () => [call.method === "chat" ? inPiece(found) : found]);
}

/** In seconds. A clock that was set back makes nothing younger than new. */
const ageOf = ({ created }: LLMResponse): number => Math.max(0, nowSeconds() - created);

/** What was written by something else is nothing. */
function decode(kept: Uint8Array): LLMResponse | undefined {
  try {
    const answer = fromBinary(LLMResponseSchema, kept);
    return answer.choices[0]?.message && answer;
  } catch {
    return undefined;
  }
}

/** RFC 9211. */
const header = "cache-status";

function passed({ attributes, metadata }: Call, as: "miss" | "bypass", why: string): void {
  attributes.cache = as;
  metadata.set(header, `lintel; fwd=${why}`);
}

/** An answer that is kept once it is complete, for who asks the same. */
class Kept extends Relay<Batch> {
  readonly #whole: boolean;
  readonly #mostBytes: number;
  readonly #keep: (answer: LLMResponse) => Uint8Array | undefined;
  readonly #land: ((landed: Landed) => void) | undefined;
  /** What there is of the answer, unless it is too much. */
  #gathered: Gathered | undefined = new Gathered();

  constructor(
    whole: boolean,
    source: AsyncIterator<Batch>,
    mostBytes: number,
    keep: (answer: LLMResponse) => Uint8Array | undefined,
    land: ((landed: Landed) => void) | undefined,
  ) {
    super(source);
    this.#whole = whole;
    this.#mostBytes = mostBytes;
    this.#keep = keep;
    this.#land = land;
  }

  override came(step: Step): void {
    const message = step.done ? undefined : step.value[0];
    if (this.#whole && message) this.#done(message);
    else if (step.done) this.#done(this.#gathered?.whole);
    else this.#gather(step.value);
    super.came(step);
  }

  override failed(reason: unknown): void {
    this.#land?.(undefined);
    super.failed(reason);
  }

  override return(): Promise<Step> {
    this.#land?.("left");
    return super.return();
  }

  #gather(messages: Batch): void {
    for (const message of messages) this.#gathered?.add(message);
    if (this.#gathered && this.#gathered.length > this.#mostBytes) this.#gathered = undefined;
  }

  #done(answer: LLMResponse | undefined): void {
    const kept = answer && isWorthKeeping(answer) ? this.#keep(answer) : undefined;
    this.#land?.(kept);
  }
}

/** What says nothing, or was withheld, may be another answer the next time. */
function isWorthKeeping({ choices: [choice] }: LLMResponse): boolean {
  const { content = "", toolCalls = [], images = [] } = choice?.message ?? {};
  const says = content !== "" || toolCalls.length + images.length > 0;
  return says && choice?.finishReason !== "content_filter";
}
