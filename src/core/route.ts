/** Where the call goes: the first target that gives a first message. */
import { handlerOf } from "./adapt.js";
import type { Target } from "./backend.js";
import type { Call, Handle } from "./call.js";
import { type ErrorCode, LintelError, toLintelError } from "./errors.js";
import { fitRequest } from "./fit.js";
import type { BackendMethod, MethodName, Output } from "./methods.js";

/** Failures after which another target may do better. */
const passable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "upstream_failed",
  "upstream_unreachable",
  "unavailable",
  "shutting_down",
  "rate_limited",
  "timeout",
  "unimplemented",
  "unsupported_parameter",
]);

/**
 * Ends the chain: hands the call to its targets, one after the other, until one
 * gives a message. After the first message a failure is the caller's to see.
 */
export const route: Handle = (call) => ({
  [Symbol.asyncIterator]: () => new Attempts(call),
});

type Batch = readonly Output<MethodName>[];

class Attempts implements AsyncIterator<Batch> {
  readonly #call: Call;
  #current: AsyncIterator<Batch> | undefined;
  #decided = false;

  constructor(call: Call) {
    this.#call = call;
  }

  next(): Promise<IteratorResult<Batch>> {
    return this.#decided && this.#current ? this.#current.next() : this.#first();
  }

  async return(): Promise<IteratorResult<Batch>> {
    await this.#current?.return?.();
    return { done: true, value: undefined };
  }

  async #first(): Promise<IteratorResult<Batch>> {
    const { targets = [], attributes, signal } = this.#call;
    let failure: LintelError | undefined;
    for (const target of targets) {
      signal.throwIfAborted();
      try {
        const handle = attempt(this.#call, target);
        attributes.attempts++;
        attributes.backend = target.backend.name;
        this.#current = handle[Symbol.asyncIterator]();
        const first = await this.#current.next();
        this.#decided = true;
        return first;
      } catch (thrown) {
        if (signal.aborted) throw signal.reason;
        failure = toLintelError(thrown);
        if (!passable.has(failure.code)) throw failure;
        this.#call.log.debug(
          { id: this.#call.id, backend: target.backend.name, code: failure.code },
          "attempt failed",
        );
      }
    }
    throw failure ?? new LintelError("unavailable", "no model server can take the request now");
  }
}

function attempt(call: Call, { backend, model }: Target): AsyncIterable<Batch> {
  const request = fitRequest(call.request, model, call.modelSettings, call.warnings);
  const named =
    call.method === "chat" || call.method === "complete"
      ? { model: model.id }
      : { modelId: model.id };
  return handlerOf(
    backend,
    call.method as BackendMethod,
  )({
    ...call,
    request: { ...request, ...named } as Call["request"],
  });
}
