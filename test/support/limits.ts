/** The real core with limits, and callers of it. */
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Caller } from "../../src/core/call.js";
import type { Core } from "../../src/core/core.js";
import type { LimitSettings, OwnLimits, Price } from "../../src/core/limits/settings.js";
import type { LimitStore } from "../../src/core/limits/store.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { outcome as outcomeOf } from "./calls.js";
import { coreOf } from "./core.js";
import { chatModel, imageModel } from "./models.js";
import { paints, says, scripted } from "./scripted.js";

/** Where the time stands at first. */
export const noon = Date.UTC(2026, 0, 15, 12);

/** A core with limits, whose time stands still unless `clock.now` is moved. */
export function limited(
  settings: Partial<LimitSettings>,
  more: {
    prices?: readonly Price[];
    handlers?: Parameters<typeof scripted>[0];
    callers?: Record<string, OwnLimits>;
    /** The team of each caller that has one. */
    members?: Record<string, string>;
    models?: readonly ModelSettings[];
    served?: readonly Model[];
    /** Default: an empty one. */
    store?: LimitStore;
  } = {},
) {
  const clock = { now: noon };
  const store = more.store ?? memoryLimits({ clock: () => clock.now });
  const served = more.served ?? [chatModel("chat-1"), chatModel("chat-2"), imageModel("image-1")];
  const backend = scripted(
    more.handlers ?? { chat: says("a", "b", "c"), streamTextToImage: paints(1) },
    served,
  );
  const { members, callers = members && {}, models = [] } = more;
  const find = (token: string): Caller => {
    return { id: token, limits: callers?.[token], team: members?.[token] };
  };
  const auth = callers && { auth: { mode: "token", tokens: [] } as const };
  const core = coreOf(
    [backend],
    { ...auth, models },
    {
      limits: { settings: { models: [], ...settings }, prices: more.prices ?? [], store },
      prices: more.prices ?? [],
      ...(callers && { callers: [{ find }] }),
    },
  );
  return { core, clock, backend, store };
}

export const chat = { messages: [{ role: "user", content: "four tokens long" }] };
export const draw = { prompt: "a lintel" };

export type Method = "chat" | "complete" | "textToImage" | "streamTextToImage";

/** What a call of a caller came to. */
export const outcome = (core: Core, method: Method, request: object, credential = "me") =>
  outcomeOf(core, method, request, { credential });
