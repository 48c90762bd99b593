/** The real core around scripted backends, called without any door. */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import type { Backend } from "../../src/core/backend.js";
import { type Core, type CoreParts, createCore } from "../../src/core/core.js";
import type { Origin } from "../../src/core/gateway.js";
import { silent } from "../../src/core/log.js";
import { type Input, type MethodName, methods, type Output } from "../../src/core/methods.js";
import { type CoreSettings, coreDefaults } from "../../src/core/settings.js";
import { never } from "./calls.js";

/** A core whose settings are the contract's but for what is said. */
export function coreOf(
  backends: readonly Backend[],
  settings: Partial<CoreSettings> = {},
  parts: Partial<CoreParts> = {},
): Core {
  return createCore({
    settings: { ...coreDefaults, ...settings },
    backends,
    log: silent,
    sanitize: (data) => data,
    blur: async (data) => data,
    ...parts,
  });
}

type Init<M extends MethodName> = MessageInitShape<(typeof methods)[M]["input"] & DescMessage>;

/** Runs a call to its end; answers every message of it. */
export async function run<M extends MethodName>(
  core: Core,
  method: M,
  request: Init<M>,
  origin: Partial<Origin> = {},
): Promise<Output<M>[]> {
  const message = create(
    methods[method].input as DescMessage,
    request as Record<string, unknown>,
  ) as Input<M>;
  const running = core.call(method, message, {
    door: "test",
    credential: "me",
    signal: never,
    ...origin,
  });
  const all: Output<M>[] = [];
  for await (const batch of running.messages) {
    if (batch.length === 0) throw new Error("an empty batch");
    all.push(...batch);
  }
  return all;
}
