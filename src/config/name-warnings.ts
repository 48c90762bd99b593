/** Limits, prices and guards of names under which no call counts: of an alias, and of a backend's own. */
import { fits } from "../core/pattern.js";
import type { Config } from "./schema.js";

type Entry = Config["models"][number];

/** What limits, prices and guards are of, with the place of each. */
export const namesIn = ({
  auth,
  limits,
  prices,
  guards,
}: Config): { field: string; model: string }[] => [
  ...limits.models.map(({ model }, i) => ({ field: `limits.models[${i}].model`, model })),
  ...auth.teams.flatMap(({ limits }, i) =>
    (limits?.models ?? []).map(({ model }, j) => ({
      ...{ field: `auth.teams[${i}].limits.models[${j}].model`, model },
    })),
  ),
  ...prices.map(({ model }, i) => ({ field: `prices[${i}].model`, model })),
  ...guards.flatMap(({ models }, i) =>
    models.map((model, j) => ({ field: `guards[${i}].models[${j}]`, model })),
  ),
];

/** A line for each: nothing would be limited by it, and nothing be charged. */
export function nameWarnings(config: Config): string[] {
  const priced = new Set(config.prices.map(({ model }) => model));
  const mirrored = new Set(
    config.models.flatMap((entry) =>
      (entry.mirrors ?? []).map((mirror) => mirror.model ?? entry.model ?? entry.name),
    ),
  );
  return namesIn(config).flatMap(({ field, model }) => {
    const [entry, what] = meant(model, config.models) ?? [];
    if (!entry) return [];
    // One table may be for several gateways, and have all names; and what is mirrored counts by these.
    if (field.startsWith("prices") && (priced.has(entry.name) || mirrored.has(model))) return [];
    const name = JSON.stringify(entry.name);
    return [
      `${field} ${JSON.stringify(model)} is ${what} ${name}: say ${name}, by which its calls count`,
    ];
  });
}

/** The entry that a name belongs to without being its own, and what the name is there. */
function meant(pattern: string, models: readonly Entry[]): [Entry, string] | undefined {
  const by = (fitting: (alias: string) => boolean): [Entry, string] | undefined => {
    const entry = models.find(({ aliases = [] }) => aliases.some(fitting));
    return entry && [entry, "an alias of"];
  };
  // It goes before every wildcard.
  const exact = pattern.includes("*") ? undefined : by((alias) => alias === pattern);
  if (exact) return exact;
  if (models.some(({ name }) => fits(name, pattern) || fits(pattern, name))) return undefined;
  const wide = by((alias) => fits(alias, pattern));
  if (wide) return wide;
  const behind = models.find((entry) => upstreams(entry).includes(pattern));
  return behind && [behind, "what a backend calls"];
}

const upstreams = ({ model, targets = [] }: Entry): unknown[] => [
  model,
  ...targets.map((target) => target.model),
];
