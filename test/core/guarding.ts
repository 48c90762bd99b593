/** A core whose texts guards look at, for tests. */
import type { Handle } from "../../src/core/call.js";
import type { CoreParts } from "../../src/core/core.js";
import type { Checker, Guard } from "../../src/core/guards/guard.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { type PatternSettings, patternChecker } from "../../src/guards/pattern.js";
import * as calls from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import { paints, says, scripted } from "../support/scripted.js";

/** A guard that looks at prompts of all models, but for what is said. */
export const guardOf = (name: string, checker: Checker, more: Partial<Guard> = {}): Guard => ({
  name,
  lookAt: ["prompts"],
  models: ["*"],
  onFailure: "closed",
  checker,
  ...more,
});

/** One that looks for emails. */
export const mail = (
  action: PatternSettings["action"] = "mask",
  more: Partial<Guard> = {},
): Guard =>
  guardOf("mail", patternChecker({ name: "mail", find: ["email"], patterns: [], action }), more);

/** A core with guards, what its models were asked, and a way to ask. */
export function guarded(
  guards: readonly Guard[],
  chat: Handle<"chat"> = says("Hi"),
  settings: Partial<CoreSettings> = {},
  parts: Partial<CoreParts> = {},
) {
  const chatty = chatModel("chat-1");
  const supports = [...chatty.supports, "cache_control"];
  const models = [{ ...chatty, supports }, imageModel("image-1")];
  const backend = scripted({ chat, streamTextToImage: paints() }, models);
  const core = coreOf([backend], settings, { guards, ...parts });
  const ask = (
    request: object,
    method: Parameters<typeof calls.outcome>[1] = "complete",
    origin = {},
  ) => calls.outcome(core, method, request, origin);
  return { core, backend, ask };
}

/** One message of a user. */
export const user = (content: string) => ({ messages: [{ role: "user", content }] });
