/** Cores whose model `m` is mirrored, for tests of that. */
import type { Handle } from "../../src/core/call.js";
import type { CoreParts } from "../../src/core/core.js";
import { silent } from "../../src/core/log.js";
import type { Mirrored, NotMirrored } from "../../src/core/mirrored.js";
import type { MirrorSettings } from "../../src/core/routing/settings.js";
import type { CoreSettings, ModelSettings } from "../../src/core/settings.js";
import { chatModel } from "../support/models.js";
import { backend, bench, type Some } from "../support/routing.js";
import { type Scripted, says, scripted } from "../support/scripted.js";

/** What a test changes. */
export interface Changes {
  readonly real?: Scripted;
  readonly mirror?: Partial<MirrorSettings>;
  readonly model?: Partial<ModelSettings>;
  readonly more?: readonly Scripted[];
  readonly routing?: Some;
  readonly parts?: Partial<CoreParts>;
  readonly settings?: Partial<CoreSettings>;
}

/** `m` at the backend `real`; what it is asked goes to `s` at `shadow` as well. */
export function mirroring(shadow: Handle<"chat"> | Scripted, changes: Changes = {}) {
  const {
    real = backend("real", says("real")),
    more = [],
    model,
    mirror,
    routing,
    parts,
    settings,
  } = changes;
  const mirrorAt =
    typeof shadow === "function" ? scripted({ chat: shadow }, [chatModel("s")], "shadow") : shadow;
  const models: ModelSettings[] = [
    {
      name: "m",
      targets: [{ backend: "real" }],
      mirrors: [{ backend: "shadow", model: "s", ...mirror }],
      ...model,
    },
  ];
  const lines: Record<string, unknown>[] = [];
  const keep = (fields: object, msg: string) => void lines.push({ msg, ...fields });
  const log = { ...silent, debug: keep, info: keep, warn: keep, error: keep };
  const answered: Mirrored[] = [];
  const passedOver: NotMirrored[] = [];
  const tried: unknown[] = [];
  const watch = {
    attempt: () => undefined,
    end: ({ attributes }: { attributes: { tried: readonly unknown[] } }) =>
      void tried.push(...attributes.tried),
    mirrors: {
      asked: () => ({ traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" }),
      answered: (it: Mirrored) => void answered.push(it),
      passedOver: (it: NotMirrored) => void passedOver.push(it),
    },
  };
  const telemetry = { begin: () => watch };
  const all = [real, mirrorAt, ...more];
  const { core, clock } = bench(all, routing, models, { log, telemetry, ...parts }, settings);
  const said = (msg: string) => lines.filter((line) => line.msg === msg);
  return { core, clock, real, shadow: mirrorAt, lines, said, answered, passedOver, tried };
}

/** How mirrored calls ended. */
export const outcomes = (answered: readonly Mirrored[]) =>
  answered.map(({ record }) => record.outcome);

/** Why calls were not mirrored. */
export const reasons = (passedOver: readonly NotMirrored[]) => passedOver.map(({ why }) => why);
