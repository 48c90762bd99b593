/** When a server's limit is over, where it says so in words, or for each of its limits, and not when to come again. */

import type { Headers } from "./retry-after.js";

/** What a unit begins with, and seconds that it has. */
const units = [
  [/^m(?:s|il)/, 0.001],
  [/^s/, 1],
  [/^m/, 60],
  [/^h/, 3600],
  [/^d/, 86_400],
] as const;

const unit =
  "(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])";
const span = new RegExp(`(\\d+(?:\\.\\d+)?) ?(${unit})`, "g");
const spans = `\\d+(?:\\.\\d+)? ?${unit}(?:,? ?(?:and )?\\d+(?:\\.\\d+)? ?${unit}){0,3}`;

/** Of OpenAI and Groq ("Please try again in 1m7.5s"), Azure ("Please retry after 26 seconds") and Google ("Please retry in 34.07s"). */
const again = new RegExp(`\\b(?:try again|retry) (?:in|after) (${spans})`);

/** A time alone: of OpenAI and Groq `6m0s`, `7.66s`, `120ms`. */
const alone = new RegExp(`^${spans}$`);

/** Seconds after which a message says that its server wants to be asked again. */
export function secondsInWords(message: string): number | undefined {
  const said = again.exec(message.toLowerCase())?.[1];
  return said === undefined ? undefined : secondsOf(said);
}

const secondsOf = (times: string): number =>
  [...times.matchAll(span)].reduce((sum, [, count, name = ""]) => {
    const [, seconds = 0] = units.find(([begin]) => begin.test(name)) ?? [];
    return sum + Number(count) * seconds;
  }, 0);

/**
 * Most seconds that are waited for a limit to be whole again: with a bucket that is filled bit by bit there is room for
 * a request long before, and nobody says when.
 */
const longest = 60;

/** OpenAI's and Groq's `x-ratelimit-reset-requests`, Cerebras' `x-ratelimit-reset-tokens-minute`, Anthropic's `anthropic-ratelimit-tokens-reset`. */
const resets = /^(?:x-|anthropic-)?ratelimit-(?:[a-z-]+-)?reset(?:-[a-z_-]+)?$/;

/**
 * Seconds until the limits are whole again of which nothing is left, at most a minute; of several the longest.
 * @param headers of an answer that says a limit was reached
 * @param now milliseconds since the epoch
 */
export function secondsToReset(headers: Headers, now: number): number | undefined {
  let most: number | undefined;
  for (const [name, reset] of Object.entries(headers)) {
    if (typeof reset !== "string" || !resets.test(name)) continue;
    const left = headers[name.replace("reset", "remaining")];
    // Azure says -1 where it does not know.
    if (left !== undefined && Number(left) !== 0) continue;
    const seconds = secondsUntil(reset.trim().toLowerCase(), now);
    if (seconds !== undefined) most = Math.min(longest, Math.max(most ?? 0, seconds));
  }
  return most;
}

/** A time from now, or in seconds, or a point in time: in seconds or milliseconds since the epoch, or as a date. */
function secondsUntil(reset: string, now: number): number | undefined {
  if (alone.test(reset)) return secondsOf(reset);
  const number = reset === "" ? Number.NaN : Number(reset);
  const seconds = Number.isNaN(number)
    ? (Date.parse(reset) - now) / 1000
    : number < 1e9
      ? number
      : number / (number > 1e12 ? 1000 : 1) - now / 1000;
  return Number.isNaN(seconds) || seconds < 0 ? undefined : seconds;
}
