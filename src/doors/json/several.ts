/**
 * Several answers to one request, as OpenAI's clients ask for them (`n`). Each is a call of its own, so that any model
 * gives them, and each counts as one; to the client they are one answer with several choices.
 */
import { createHash } from "node:crypto";
import type { LLMRequest, LLMResponse, LLMTokenUsage } from "../../../gen/lintel/v1/chat_pb.js";
import type { TokenCounts } from "../../core/call-attributes.js";
import { type CallSignal, Cancellation } from "../../core/cancellation.js";
import { detailsOf, tokenUsage } from "../../core/chat-messages.js";
import { LintelError } from "../../core/errors.js";
import { type Gateway, type Origin, only, type Running } from "../../core/gateway.js";
import { iterable, once } from "../../core/iterate.js";
import type { Input } from "../../core/methods.js";
import { Totals } from "./totals.js";

type Method = "chat" | "complete";

/** Greatest seed; behind it they begin anew. */
const lastSeed = 4294967295n;

/**
 * Starts as many calls as answers are wanted. A failure of one is that of all, and ends the others.
 * @param count at least 2
 */
export function callSeveral<M extends Method>(
  gateway: Gateway,
  method: M,
  message: LLMRequest,
  origin: Origin,
  count: number,
): Running<M> {
  const cancellation = following(origin.signal);
  const all = Array.from({ length: count }, (_, i) =>
    gateway.call(method, nthOf(message, i) as Input<M>, originOfNth(origin, cancellation, i)),
  );
  const messages =
    method === "complete"
      ? once(async () => [await whole(all as Running<"complete">[], cancellation)])
      : iterable(() => streamed(all as Running<"chat">[], cancellation));
  return new Several(all, messages as Running<M>["messages"]);
}

/** Who asks for a seed wants the same answers again, and not the same one several times. */
function nthOf(message: LLMRequest, i: number): LLMRequest {
  const { seed } = message;
  if (i === 0 || seed === undefined || seed < 0n) return message;
  return { ...message, seed: (seed + BigInt(i)) % (lastSeed + 1n) };
}

function originOfNth(origin: Origin, signal: CallSignal, i: number): Origin {
  const { header, idempotencyKey: key } = origin;
  return {
    ...origin,
    signal,
    // One from the cache, or of a call that asks the same, would be all of them.
    header: (name) => (name === "cache-control" ? "no-store" : header?.(name)),
    idempotencyKey: key === undefined || i === 0 ? key : nthKey(key, i),
  };
}

const nthKey = (key: string, i: number): string =>
  createHash("sha256").update(`${key}\n${i}`).digest("base64url");

/** Aborted when another signal is, and otherwise. */
function following(signal: CallSignal): Cancellation {
  const cancellation = new Cancellation();
  if (signal.aborted) cancellation.abort(signal.reason);
  else signal.addEventListener("abort", () => cancellation.abort(signal.reason), { once: true });
  return cancellation;
}

const overtaken = () =>
  new LintelError("cancelled", "another answer to the same request failed, or was not wanted");

class Several<M extends Method> implements Running<M> {
  readonly id: string;
  readonly messages: Running<M>["messages"];
  readonly #all: readonly Running<M>[];

  constructor(all: readonly Running<M>[], messages: Running<M>["messages"]) {
    this.id = all[0]?.id ?? "";
    this.messages = messages;
    this.#all = all;
  }

  get model(): string | undefined {
    return this.#all.find(({ model }) => model !== undefined)?.model;
  }

  get warnings(): Iterable<string> {
    return new Set(this.#all.flatMap(({ warnings }) => [...warnings]));
  }

  /** Of what is left of limits the last call tells. */
  get metadata(): ReadonlyMap<string, string> {
    return new Map(this.#all.flatMap(({ metadata }) => [...metadata]));
  }

  get counts(): TokenCounts {
    const all = this.#all.map(({ counts }) => counts);
    const sumOf = (name: "promptTokens" | "completionTokens") =>
      all.reduce((sum, counts) => sum + (counts[name] ?? 0), 0);
    return {
      promptTokens: sumOf("promptTokens"),
      completionTokens: sumOf("completionTokens"),
      estimated: all.some(({ estimated }) => estimated),
    };
  }
}

async function whole(
  all: readonly Running<"complete">[],
  cancellation: Cancellation,
): Promise<LLMResponse> {
  try {
    const answers = await Promise.all(all.map(only));
    const totals = answers.map((answer) => {
      const its = new Totals([]);
      its.take(answer);
      return its;
    });
    const choices = answers.flatMap((answer, i) => choicesOf(answer, i));
    return { ...(answers[0] as LLMResponse), ...sumOf(totals), choices };
  } finally {
    cancellation.abort(overtaken());
  }
}

/** A step of one of several streams. */
interface Step {
  readonly i: number;
  readonly result: IteratorResult<readonly LLMResponse[]>;
}

/** What comes of any of them, as it comes, and with the last message what all of them took. */
async function* streamed(
  all: readonly Running<"chat">[],
  cancellation: Cancellation,
): AsyncGenerator<readonly LLMResponse[]> {
  const streams = all.map(({ messages }) => messages[Symbol.asyncIterator]());
  const open = new Map<number, Promise<Step>>();
  const ask = (i: number) => {
    const step = (streams[i] as AsyncIterator<readonly LLMResponse[]>)
      .next()
      .then((result) => ({ i, result }));
    // One that nobody waits for any more may fail.
    step.catch(() => undefined);
    open.set(i, step);
  };
  const totals = all.map(() => new Totals([]));
  let first: LLMResponse | undefined;
  try {
    for (const i of streams.keys()) ask(i);
    while (open.size > 0) {
      const { i, result } = await Promise.race(open.values());
      if (result.done) {
        open.delete(i);
        continue;
      }
      first ??= result.value[0];
      for (const message of result.value) totals[i]?.take(message);
      const { id = "", created = 0 } = first ?? {};
      yield result.value.map((message) => ({
        ...message,
        ...{ id, created, usage: undefined, choices: choicesOf(message, i) },
      }));
      ask(i);
    }
    if (first) yield [{ ...first, ...sumOf(totals), choices: [] }];
  } finally {
    cancellation.abort(overtaken());
    await Promise.allSettled(streams.map((stream) => stream.return?.()));
  }
}

const choicesOf = ({ choices }: LLMResponse, index: number): LLMResponse["choices"] =>
  choices.map((choice) => ({ ...choice, index }));

/** What is told of all of them together. */
function sumOf(
  all: readonly Totals[],
): Pick<LLMResponse, "usage" | "usageEstimated" | "serviceTier" | "warnings"> {
  const usages = all.flatMap(({ usage }) => (usage ? [usage] : []));
  return {
    usage: usages.length > 0 ? usages.reduce(both) : undefined,
    usageEstimated: all.some(({ estimated }) => estimated),
    serviceTier: all[0]?.tier,
    warnings: [...new Set(all.flatMap(({ warnings }) => warnings))],
  };
}

function both(one: LLMTokenUsage, other: LLMTokenUsage): LLMTokenUsage {
  const sum = (a: number | undefined, b: number | undefined) =>
    a === undefined ? b : a + (b ?? 0);
  return tokenUsage(
    one.promptTokens + other.promptTokens,
    one.completionTokens + other.completionTokens,
    detailsOf(
      sum(one.cachedTokens, other.cachedTokens),
      sum(one.cacheWriteTokens, other.cacheWriteTokens),
      sum(one.reasoningTokens, other.reasoningTokens),
      sum(one.cacheWrite1hTokens, other.cacheWrite1hTokens),
    ),
  );
}
