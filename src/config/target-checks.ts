/** Backends that there are none of, and models that a backend does not have. */
import { usualAddresses } from "../backends/discover.js";
import { fits } from "../core/pattern.js";
import { embeddedEntry } from "./backends.js";
import type { Finding, Path } from "./problems.js";
import { type Fields, list, texts } from "./raw.js";
import { allServed, servedModels } from "./served.js";
import { didYouMean } from "./suggest.js";

/** What refers to backends, and these, whatever has the wrong type left out. */
export interface TargetParts {
  readonly models: readonly Fields[];
  readonly backends: readonly Fields[];
  /** Whether the file lists backends. Else they are found at start. */
  readonly listed: boolean;
  /** What `routing.health.check.backends` says. */
  readonly checked: readonly string[];
}

/** Backends that are there, or may be, where the file lists none. */
const findable = [embeddedEntry, ...usualAddresses].map(({ name }) => name);

/** What refers to a backend by its name, and to a model that it should have. */
export function checkTargets({ models, backends, listed, checked }: TargetParts): Finding[] {
  const served = new Map(backends.map((backend) => [backend.name, servedModels(backend)]));
  const all = allServed(backends);
  const configured = backends.map(({ name }) => name).filter((name) => typeof name === "string");
  const known = listed ? configured : findable;
  const unknown = (name: unknown, path: Path): Finding[] => {
    if (typeof name !== "string" || name === "" || known.includes(name)) return [];
    const there = listed ? "there are" : "where none are configured, there may be";
    const hint = didYouMean(name, known) || `; ${there}: ${known.join(", ") || "none"}`;
    return [{ path, message: `there is no backend "${name}"${hint}` }];
  };
  const lacking = (backend: unknown, model: unknown, path: Path): Finding[] => {
    return without(model, served.get(backend), `the backend "${backend}" has no model`, path);
  };
  return [
    ...models.flatMap((entry, i) => [
      ...texts(entry.backends).flatMap((name, j) => {
        const path = ["models", i, "backends", j];
        const model = entry.model ?? entry.name;
        return [...unknown(name, path), ...lacking(name, model, path)];
      }),
      ...["targets", "mirrors"].flatMap((key) =>
        list(entry[key]).flatMap(({ backend, model }, j) => {
          const path = ["models", i, key, j];
          const own = key === "mirrors" ? (entry.model ?? entry.name) : entry.name;
          return [
            ...unknown(backend, [...path, "backend"]),
            ...lacking(backend, model ?? own, [...path, model ? "model" : "backend"]),
          ];
        }),
      ),
      ...nowhere(entry, i, all),
    ]),
    ...checked.flatMap((name, i) => unknown(name, ["routing", "health", "check", "backends", i])),
  ];
}

/** An entry for all backends, of which none has the model. */
function nowhere(entry: Fields, i: number, names: readonly string[] | undefined): Finding[] {
  const { name, model = name, backends, targets } = entry;
  if (backends !== undefined || targets !== undefined) return [];
  const path = ["models", i, entry.model === undefined ? "name" : "model"];
  return without(model, names, "no backend has a model", path);
}

/** Says that a model is not among those that are known; nothing where they are not known. */
function without(
  model: unknown,
  names: readonly string[] | undefined,
  lack: string,
  path: Path,
): Finding[] {
  if (!names || typeof model !== "string" || names.some((name) => fits(model, name))) return [];
  return [{ path, message: `${lack} "${model}"${didYouMean(model, names)}` }];
}
