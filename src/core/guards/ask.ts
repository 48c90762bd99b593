/** One question to a guard, and what becomes of what it says. */
import type { Call } from "../call.js";
import type { GuardNote } from "../call-attributes.js";
import { LintelError, toLintelError } from "../errors.js";
import type { Guard, GuardedImage, GuardedSide, GuardedText, Verdict } from "./guard.js";

const pass: Verdict = { action: "pass" };

/** Guards that took too long over a text of a call which passes all the same, by what is noted down of the call. */
const late = new WeakMap<Call["attributes"], Set<Guard>>();

/**
 * What a guard says of texts and images, written down. A block is thrown. One that took too long over
 * others of the call, and lets them pass, is not asked again: a stream would wait as long for each piece.
 * @throws LintelError `content_blocked` that names the guard and the field; `unavailable` where it
 *   fails, and calls are refused then; the signal's reason
 */
export async function ask(
  guard: Guard,
  call: Call,
  side: GuardedSide,
  texts: readonly GuardedText[],
  images: readonly GuardedImage[] = [],
): Promise<Verdict> {
  const { id, signal, attributes } = call;
  if (late.get(attributes)?.has(guard)) return pass;
  const about = {
    id,
    model: attributes.model ?? "",
    caller: attributes.caller ?? "",
    team: attributes.team,
    user: attributes.user,
    side,
    signal,
  };
  let verdict: Verdict;
  try {
    verdict = await guard.checker.check(texts, about, images);
  } catch (thrown) {
    const verdict = failed(guard, call, side, thrown);
    if (toLintelError(thrown).code === "timeout") {
      late.set(attributes, (late.get(attributes) ?? new Set()).add(guard));
    }
    return verdict;
  }
  return heed(guard, call, side, verdict);
}

/** Writes down what a guard said. @throws LintelError `content_blocked` where that is to block */
export function heed(guard: Guard, call: Call, side: GuardedSide, verdict: Verdict): Verdict {
  switch (verdict.action) {
    case "pass":
      break;
    case "flag":
      note(call, { guard: guard.name, side, result: "flagged", found: verdict.found });
      break;
    case "replace":
      note(call, { guard: guard.name, side, result: "masked", found: verdict.found });
      call.warnings.add(
        `guards: ${JSON.stringify(guard.name)} replaced a part of the ${side === "prompt" ? "request" : "answer"}`,
      );
      break;
    case "block":
      throw blocked(guard, call, side, verdict.field, verdict.found, verdict.reason);
  }
  return verdict;
}

/**
 * A block, written down.
 * @param field of a prompt; absent: nobody tells, or it is an answer's
 */
export function blocked(
  { name }: Guard,
  call: Call,
  side: GuardedSide,
  field: string | undefined,
  found: readonly string[],
  reason = "",
): LintelError {
  note(call, { guard: name, side, result: "blocked", found });
  // The door puts its client's name of the field there.
  const what = side === "answer" ? "the answer" : field ? `${field}:` : "the request";
  const why = reason === "" ? "" : `: ${reason}`;
  return new LintelError(
    "content_blocked",
    `${what} was blocked by the guard ${JSON.stringify(name)}${why}`,
    side === "prompt" && field !== undefined ? { param: field } : {},
  );
}

/**
 * A guard that can't look, whatever it is that it can't look at.
 * @param thrown `param` is the field that it can't look at, where it is one; `invalid_value` with one:
 *   nobody could, now or later
 * @throws LintelError `content_blocked` for what nobody can look at, else `unavailable`, but where
 *   calls pass then; the signal's reason
 */
export function failed(
  { name, onFailure }: Guard,
  call: Call,
  side: GuardedSide,
  thrown: unknown,
): Verdict {
  call.signal.throwIfAborted();
  const error = toLintelError(thrown);
  const { code, message, askedDelay } = error;
  const unfit = error.param !== undefined && code === "invalid_value";
  // Of an answer the caller has no fields.
  const param = side === "prompt" ? error.param : undefined;
  const isNews = note(call, { guard: name, side, result: "failed", found: [] });
  if (!unfit && isNews) {
    call.log.warn({ id: call.id, guard: name, err: error, onFailure }, "a guard failed");
  }
  const guard = JSON.stringify(name);
  if (onFailure === "open") {
    const passed = unfit
      ? "can't look at a file or an image, which was passed on"
      : "failed, not all texts were looked at";
    call.warnings.add(`guards: ${guard} ${passed}`);
    return pass;
  }
  const what =
    param === undefined
      ? `the guard ${guard} can't look at this`
      : `${param}: the guard ${guard} can't look at it`;
  const options = { cause: thrown, ...(param !== undefined && { param }) };
  if (unfit) throw new LintelError("content_blocked", `${what}: ${message}`, options);
  throw new LintelError("unavailable", `${what} now`, {
    ...options,
    ...(askedDelay !== undefined && { retryAfter: askedDelay }),
  });
}

/** Of a stream a guard may say the same many times. @returns whether it is the first time */
function note({ attributes }: Call, said: GuardNote): boolean {
  const { guards = [] } = attributes;
  const same = guards.find(
    ({ guard, side, result }) =>
      guard === said.guard && side === said.side && result === said.result,
  );
  const found = [...new Set([...(same?.found ?? []), ...said.found])];
  const others = guards.filter((one) => one !== same);
  attributes.guards = [...others, { ...said, found }];
  return same === undefined;
}
