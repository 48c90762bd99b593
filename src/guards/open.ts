/** Makes the guards that the configuration describes. */
import type { GuardConfig } from "../config/guards.js";
import type { Checker, Guard } from "../core/guards/guard.js";

/** Guards, and their end. */
export interface OwnedGuards {
  /** In the order of the configuration. */
  readonly guards: readonly Guard[];
  close(): Promise<void>;
}

/** A checker, and its end where it has one. */
export interface OwnedChecker extends Checker {
  close?(): Promise<void>;
}

/** `undefined` if none is configured. */
export async function openGuards(
  configs: readonly GuardConfig[],
): Promise<OwnedGuards | undefined> {
  if (configs.length === 0) return undefined;
  const checkers = await Promise.all(configs.map(checkerFor));
  const guards = configs.map((config, i) => ({
    name: config.name,
    lookAt: config.look_at,
    roles: config.roles,
    messages: config.messages,
    images: "images" in config && config.images,
    models: config.models,
    onFailure: config.on_failure,
    checker: checkers[i] as Checker,
  }));
  return {
    guards,
    async close() {
      await Promise.all(checkers.map((checker) => checker.close?.()));
    },
  };
}

async function checkerFor(config: GuardConfig): Promise<OwnedChecker> {
  switch (config.type) {
    case "pattern":
      return (await import("./pattern.js")).patternChecker(config);
    case "moderation":
      return (await import("./moderation.js")).moderationGuard(config);
    case "webhook":
      return (await import("./webhook.js")).webhookGuard(config);
  }
}
