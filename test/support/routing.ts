/** Cores whose routing a test holds in its hands: time, chance, and what each target does. */

import { expect } from "vitest";
import type { Handle } from "../../src/core/call.js";
import type { CallSignal } from "../../src/core/cancellation.js";
import type { Core, CoreParts } from "../../src/core/core.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { type ErrorOptions, LintelError } from "../../src/core/errors.js";
import { type RoutingSettings, routingDefaults } from "../../src/core/routing/settings.js";
import type { CoreSettings, ModelSettings } from "../../src/core/settings.js";
import { FakeClock, seeded } from "./clock.js";
import { coreOf } from "./core.js";
import { chatModel } from "./models.js";
import { breaksAfter, type Scripted, says, scripted } from "./scripted.js";

export const hello = { messages: [{ role: "user", content: "Hello" }] };

/** A failure before the first message. */
export const fails = (code: ErrorCode, options: ErrorOptions = {}): Handle<"chat"> =>
  breaksAfter(new LintelError(code, `said ${code}`, options));

/** Does one thing after the other, the last one for ever. */
export function inTurn(...handles: Handle<"chat">[]): Handle<"chat"> {
  let turn = 0;
  return (call) => (handles[Math.min(turn++, handles.length - 1)] as Handle<"chat">)(call);
}

/** A message that comes when the test says so. */
export interface Gate {
  readonly handle: Handle<"chat">;
  /** Calls that were begun, in all. */
  readonly begun: number;
  /** Signals of these calls. */
  readonly signals: CallSignal[];
  /** Lets the oldest call that waits be answered whole. */
  open(): void;
  /** Lets it fail. */
  fail(error: Error): void;
}

/** Calls wait until the test lets them go on; an abort ends them. */
export function gate(text = "x"): Gate {
  const waiting: ((error?: Error) => void)[] = [];
  const signals: CallSignal[] = [];
  return {
    get begun() {
      return signals.length;
    },
    signals,
    open: () => waiting.shift()?.(),
    fail: (error) => waiting.shift()?.(error),
    handle: async function* (call) {
      signals.push(call.signal);
      await new Promise<void>((resolve, reject) => {
        const go = (error?: Error) => (error ? reject(error) : resolve());
        waiting.push(go);
        call.signal.addEventListener("abort", () => {
          if (waiting.includes(go)) waiting.splice(waiting.indexOf(go), 1);
          reject(call.signal.reason);
        });
      });
      yield* says(text)(call);
    },
  };
}

/** A chat backend; its only model is `m`. */
export function backend(name: string, chat: Handle<"chat"> = says(name)): Scripted {
  return scripted({ chat }, [chatModel("m")], name);
}

/** Some of the settings of routing. */
export type Some = {
  readonly [K in keyof RoutingSettings]?:
    | Partial<NonNullable<RoutingSettings[K]>>
    | string
    | number;
};

/** The defaults but for what is said. */
export function routing(some: Some = {}): RoutingSettings {
  const entries = Object.entries(some).map(([key, value]) => {
    const known = routingDefaults[key as keyof RoutingSettings];
    const isPart = typeof value === "object" && !Array.isArray(value);
    return [key, isPart ? { ...(known as object), ...value } : value];
  });
  return { ...routingDefaults, ...Object.fromEntries(entries) };
}

/** A core with a clock and chance of the test's own. */
export interface Bench {
  readonly core: Core;
  readonly clock: FakeClock;
}

/** @param models entries of the configuration; default: `m` at every backend, by their order */
export function bench(
  backends: readonly Scripted[],
  some: Some = {},
  models: readonly ModelSettings[] = [],
  parts: Partial<CoreParts> = {},
  more: Partial<CoreSettings> = {},
): Bench {
  const clock = new FakeClock();
  const settings = { ...more, routing: routing(some), models };
  return { core: coreOf(backends, settings, { clock, random: seeded(1), ...parts }), clock };
}

/** Every backend with the same priority. */
export const equals = (backends: readonly Scripted[], more: Partial<ModelSettings> = {}) => [
  { name: "m", targets: backends.map(({ name }) => ({ backend: name })), ...more },
];

/** How one target stands. */
export function stateOf(core: Core, backendName: string, model = "m") {
  const { endpoints } = core.routing.snapshot();
  const found = endpoints.find((it) => it.backend === backendName && it.model === model);
  if (!found) throw new Error(`no endpoint ${backendName} ${model}`);
  return found;
}

/** What a chat said. */
export const textOf = async (
  answer: Promise<{ choices: { delta?: { content: string } }[] }[]>,
): Promise<string> => (await answer).map((m) => m.choices[0]?.delta?.content ?? "").join("");

/** An error, for comparison. */
export const failure = (code: ErrorCode, more: object = {}) =>
  expect.objectContaining({ code, ...more });
