/** First answers in Redis or Valkey, for all replicas together. */

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type CallSignal, nativeSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import {
  FirstFailed,
  type IdempotencyStore,
  type Opened,
  type Question,
} from "../../core/idempotency/store.js";
import type { RedisConnection } from "../redis/connection.js";
import { preload, runScript } from "../redis/script.js";
import type { IdempotencyOptions } from "./answers.js";
import { MemoryIdempotency } from "./memory.js";
import { type Place, RedisRecorder } from "./recorder.js";
import { giveUpScript, openScript, readScript, writeScript } from "./scripts.js";

/** What can be set about it. */
export interface RedisIdempotencyOptions extends IdempotencyOptions {
  /**
   * What happens to calls with a key while the store is away: `open` remembers
   * answers in this process, `closed` refuses the calls. Default `open`.
   */
  readonly onFailure?: "open" | "closed";
  /** How long a call that runs outlives its process for those who wait, milliseconds. Default 10000. */
  readonly leaseMs?: number;
}

const firstPauseMs = 10;
const longestPauseMs = 250;

/** Makes a store on a connection, which stays its owner's. */
export function redisIdempotency(
  connection: RedisConnection,
  options: RedisIdempotencyOptions,
): IdempotencyStore {
  const { onFailure = "open", leaseMs = 10_000 } = options;
  const local = new MemoryIdempotency(options);
  const recorders = new Set<RedisRecorder>();
  preload(connection, [openScript, writeScript, readScript, giveUpScript]);

  /** Calls that the store may have, or the beginning of, and whose end it will not have. */
  const givenUp = new Set<Place>();
  const takeBack = (place: Place) => {
    // One that is away is not asked: when it went, many calls are given up at once.
    if (!connection.available) return;
    connection
      .ask((client) => runScript(client, giveUpScript, place.keys, [place.owner]), 0, place.keys[0])
      .then(() => givenUp.delete(place))
      // When the store is back.
      .catch(() => {});
  };
  connection.onAvailable(() => {
    for (const place of givenUp) takeBack(place);
  });
  const giveUp = (place: Place) => {
    givenUp.add(place);
    // Nothing is left of it once its lease has ended.
    setTimeout(() => givenUp.delete(place), leaseMs).unref();
    takeBack(place);
  };

  const without = (question: Question): Opened | Promise<Opened> => {
    if (onFailure === "open") return local.open(question);
    throw new LintelError("unavailable", "whether this call ran before can't be checked now");
  };

  return {
    async open(question) {
      // What began without the store goes on without it, also when the store is back.
      const known = local.recall(question);
      if (known) return known;
      if (!connection.available) return without(question);
      const { name, print, signal, ttlMs = options.ttlMs } = question;
      const tagged = `${connection.keyPrefix}{answer:${name}}`;
      const owner = randomBytes(12).toString("base64url");
      const place: Place = { connection, keys: [tagged, `${tagged}:parts`], owner };
      let said: unknown;
      try {
        said = await connection.ask(
          (client) => runScript(client, openScript, place.keys, [print, owner, leaseMs]),
          0,
          tagged,
        );
      } catch {
        // It may have been heard all the same.
        giveUp(place);
        return without(question);
      }
      switch (said) {
        case "first": {
          const kept = { ...options, leaseMs, ttlMs: Math.min(ttlMs, options.ttlMs) };
          const recorder = new RedisRecorder(
            place,
            kept,
            () => recorders.delete(recorder),
            () => giveUp(place),
          );
          recorders.add(recorder);
          return { as: "first", recorder };
        }
        case "other":
          return { as: "other" };
        case "large":
          return { as: "too large" };
        default:
          return { as: "again", parts: follow(place, options.maxAnswerBytes, signal) };
      }
    },
    async close() {
      await Promise.all([...recorders].map((recorder) => recorder.close()));
      await local.close();
    },
  };
}

/** Looks again and again: whoever asks again while the first still runs is rare. */
async function* follow(
  { connection, keys }: Place,
  maxBytes: number,
  signal: CallSignal,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  let first: string | undefined;
  let pauseMs = firstPauseMs;
  for (;;) {
    signal.throwIfAborted();
    let answer: Buffer[];
    try {
      answer = (await connection.ask(
        (client) => runScript(client, readScript, keys, [at], "bytes"),
        maxBytes,
        keys[0],
      )) as Buffer[];
    } catch (cause) {
      throw new LintelError("unavailable", "the first answer can't be read now", { cause });
    }
    const [state, owner, ...parts] = answer;
    first ??= owner?.toString();
    if (state === undefined || state.equals(large) || owner?.toString() !== first) {
      throw new FirstFailed("the first call is gone");
    }
    at += parts.length;
    if (parts.length > 0) pauseMs = firstPauseMs;
    yield* parts;
    if (parts.length > 0) continue;
    if (state.equals(done)) return;
    await pause(pauseMs, undefined, { signal: nativeSignal(signal) });
    pauseMs = Math.min(2 * pauseMs, longestPauseMs);
  }
}

const done = Buffer.from("done");
const large = Buffer.from("large");
