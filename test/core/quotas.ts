/** Quotas of targets, for tests. */
import type { Handle } from "../../src/core/call.js";
import type { TargetSettings } from "../../src/core/routing/settings.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { run } from "../support/core.js";
import { hello, textOf } from "../support/routing.js";
import { piece } from "../support/scripted.js";

export type Quotas = Readonly<Record<string, Partial<TargetSettings>>>;

/** `m`, at each of some backends in this order, with these quotas. */
export const inOrder = (quotas: Quotas): ModelSettings[] => [
  {
    name: "m",
    targets: Object.entries(quotas).map(([name, quota], priority) => ({
      ...{ backend: name, priority },
      ...quota,
    })),
  },
];

export const ask = (core: Parameters<typeof run>[0], request: object = {}) =>
  textOf(run(core, "chat", { ...hello, ...request }));

/** A prompt that is taken for about so many tokens, the four of its message among them. */
export const prompt = (tokens: number) => ({
  messages: [{ role: "user", content: "x".repeat(4 * (tokens - 4)) }],
});

/** Says one word, of which its server tells these tokens. */
export const tells = (promptTokens: number, completionTokens: number): Handle<"chat"> =>
  async function* () {
    yield [piece("said")];
    yield [piece("", "stop", [promptTokens, completionTokens])];
  };

/** Says one word of eight letters, and tells no tokens. */
export const silent: Handle<"chat"> = async function* () {
  yield [piece("eight ok")];
  yield [piece("", "stop")];
};
