/** Who asks again with the same key gets the first answer: the call does not run twice. */
import { checkModel } from "../authenticate.js";
import type { Call, Handle, Middleware } from "../call.js";
import { invalidValue, LintelError, shuttingDown } from "../errors.js";
import { deferred } from "../iterate.js";
import { isChat, isCoreMethod, type MethodName, type Output } from "../methods.js";
import { noteUser } from "../user.js";
import { decodeAbout, decodeStep, nameOf, printOf } from "./parts.js";
import { Run } from "./run.js";
import { FirstFailed, type IdempotencyStore } from "./store.js";

/** What it needs. */
export interface IdempotencyParts {
  readonly store: IdempotencyStore;
  /** How long a call with a key goes on after its caller left, milliseconds. */
  readonly lingerMs: number;
  /** How long addresses in answers lead to their images, milliseconds; absent: there are none. */
  readonly imageTtlMs?: number | undefined;
}

/** The step, and its end. */
export interface Idempotency {
  readonly step: Middleware;
  /** Ends the calls that go on without their callers, and lets no others do so. */
  abandon(): void;
  /** Ends all calls. */
  abort(reason: LintelError): void;
  /** Resolves when those that run now have ended. */
  idle(): Promise<void>;
}

/** Name by which errors speak of the key. */
const header = "idempotency-key";

/** What a key is, visible ASCII: a header that came twice has a blank in it. */
export const keyPattern = /^[\x21-\x7e]{1,255}$/;

type Batch = readonly Output<MethodName>[];

/**
 * Stands right behind authentication, since keys are their caller's, and outside
 * of all that a repetition does not go through: usage, models, limits. Calls
 * without a key pass.
 */
export function idempotency({ store, lingerMs, imageTtlMs }: IdempotencyParts): Idempotency {
  const runs = new Set<Run>();
  let leaving = false;

  const answer = async (next: Handle, call: Call, key: string): Promise<AsyncIterable<Batch>> => {
    const question = {
      name: nameOf(call, key),
      caller: call.caller?.id ?? "",
      print: printOf(call),
      // Without addresses an answer does not end with its images.
      ttlMs: isChat(call.method) || call.baseUrl === null ? undefined : imageTtlMs,
      signal: call.signal,
    };
    for (;;) {
      call.signal.throwIfAborted();
      const opened = await store.open(question);
      switch (opened.as) {
        case "first": {
          if (call.signal.aborted) {
            opened.recorder.forget();
            throw call.signal.reason;
          }
          const run = new Run(next, call, opened.recorder, leaving ? 0 : lingerMs);
          runs.add(run);
          void run.ended.finally(() => runs.delete(run));
          return run;
        }
        case "again": {
          const replay = await begin(call, opened.parts);
          if (replay) return replay;
          // The first one failed before it had an answer: it is as if it had never been.
          break;
        }
        case "other":
          throw invalidValue(header, "was used for another request; a new request needs a new key");
        case "too large":
          throw invalidValue(
            header,
            "the answer to the first request was too large to be kept; a new key runs it again",
          );
      }
    }
  };

  return {
    step: (next) => (call) => {
      const { idempotencyKey: key, method, defect } = call;
      if (key === undefined || defect || isHarmless(method)) return next(call);
      if (!keyPattern.test(key)) {
        throw invalidValue(header, "must be 1 to 255 visible ASCII characters, and come once");
      }
      return deferred(() => answer(next, call, key));
    },
    abandon() {
      leaving = true;
      const reason = shuttingDown();
      for (const run of runs) run.abandon(reason);
    },
    abort(reason) {
      for (const run of runs) run.abort(reason);
    },
    async idle() {
      await Promise.all([...runs].map(({ ended }) => ended));
    },
  };
}

/** What may be asked twice: it costs nothing, and of tokens that callers make nothing is kept that leads to them. */
const isHarmless = (method: MethodName) => isCoreMethod(method) || method === "countTokens";

/**
 * The first answer again, or `undefined` if its call failed before it had one.
 * @throws LintelError `unavailable` if nothing was kept of it: to look again would find the same;
 *   `model_not_allowed`
 */
async function begin(
  call: Call,
  parts: AsyncIterable<Uint8Array>,
): Promise<AsyncIterable<Batch> | undefined> {
  const iterator = parts[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array>;
  try {
    first = await iterator.next();
  } catch (thrown) {
    if (thrown instanceof FirstFailed) return undefined;
    throw thrown;
  }
  if (first.done) throw new LintelError("unavailable", "the first answer can't be read now");
  const { warnings, ...found } = decodeAbout(first.value);
  Object.assign(call.attributes, found);
  try {
    // The caller may have lost the model since.
    checkModel(call);
  } catch (thrown) {
    await iterator.return?.();
    throw thrown;
  }
  call.attributes.replayed = true;
  noteUser(call);
  for (const text of warnings) call.warnings.add(text);
  call.metadata.set("idempotent-replayed", "true");
  return replay(call.method, iterator);
}

async function* replay(
  method: MethodName,
  parts: AsyncIterator<Uint8Array>,
): AsyncGenerator<Batch> {
  try {
    for (let part = await parts.next(); !part.done; part = await parts.next()) {
      // Nobody asks for the end of a whole completion: what is held for it goes ahead of it.
      if (method === "complete") await parts.return?.();
      yield decodeStep(method, part.value);
    }
  } catch (thrown) {
    if (!(thrown instanceof FirstFailed)) throw thrown;
    throw new LintelError("upstream_failed", "the first call with this key failed on its way", {
      cause: thrown,
    });
  } finally {
    await parts.return?.();
  }
}
