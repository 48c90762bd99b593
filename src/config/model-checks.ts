/** Mistakes in the entries of models. */
import { stars } from "../core/pattern.js";
import type { Finding, Path } from "./problems.js";
import { type Fields, list, texts } from "./raw.js";

/** Backends and targets twice, names that more than one model has, wildcards. */
export function checkModels(models: readonly Fields[]): Finding[] {
  return [
    ...models.flatMap((model, i) => [
      ...texts(model.backends).flatMap((_, j, all) => twice(all, j, ["models", i, "backends", j])),
      ...checkForms(model, i),
      ...checkWildcards(model, i),
    ]),
    ...checkAliases(models),
  ];
}

function twice(names: readonly string[], j: number, path: Path): Finding[] {
  const earlier = names.indexOf(names[j] ?? "");
  if (names[j] === "" || earlier === j) return [];
  return [{ path, message: `is the same as backends[${earlier}]; must be unique` }];
}

function checkForms(model: Fields, i: number): Finding[] {
  if (model.targets === undefined) return [];
  const found: Finding[] = ["backends", "model"]
    .filter((key) => model[key] !== undefined)
    .map((key) => ({
      path: ["models", i, key],
      message: "can't stand beside targets, which say the same in full; leave one of them out",
      atKey: true,
    }));
  const first = new Map<string, number>();
  for (const [j, target] of list(model.targets).entries()) {
    if (typeof target.backend !== "string") continue;
    const key = JSON.stringify([target.backend, target.model ?? model.name]);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, j);
    else {
      const message = `is the same as targets[${earlier}]; give one of them the weight of both`;
      found.push({ path: ["models", i, "targets", j], message });
    }
  }
  return found;
}

const starsIn = (text: unknown) => (typeof text === "string" ? stars(text) : 0);

function checkWildcards(model: Fields, i: number): Finding[] {
  const found: Finding[] = [];
  const once = (text: unknown, path: Path) => {
    if (starsIn(text) > 1) found.push({ path, message: "must have at most one *" });
  };
  once(model.name, ["models", i, "name"]);
  const wild = starsIn(model.name) > 0;
  for (const [j, alias] of texts(model.aliases).entries()) {
    const path = ["models", i, "aliases", j];
    once(alias, path);
    if (wild && starsIn(alias) === 0) {
      found.push({ path, message: "must have a *, since the model's name has one" });
    }
  }
  const upstreams: [unknown, Path][] = [
    [model.model, ["models", i, "model"]],
    ...["targets", "mirrors"].flatMap((key) =>
      list(model[key]).map(({ model: upstream }, j): [unknown, Path] => [
        upstream,
        ["models", i, key, j, "model"],
      ]),
    ),
  ];
  for (const [upstream, path] of upstreams) {
    once(upstream, path);
    if (!wild && starsIn(upstream) > 0) {
      found.push({ path, message: "must have no *, since the model's name has none" });
    }
  }
  return found;
}

/** A name leads to one model only. Two names of models are found elsewhere. */
function checkAliases(models: readonly Fields[]): Finding[] {
  const owners = new Map<string, string>();
  for (const [i, { name }] of models.entries()) {
    if (typeof name === "string" && name !== "") owners.set(name, `models[${i}].name`);
  }
  const found: Finding[] = [];
  for (const [i, model] of models.entries()) {
    for (const [j, alias] of texts(model.aliases).entries()) {
      if (alias === "") continue;
      const owner = owners.get(alias);
      if (owner === undefined) owners.set(alias, `models[${i}].aliases[${j}]`);
      else {
        const message = `is the same as ${owner}; must be unique`;
        found.push({ path: ["models", i, "aliases", j], message });
      }
    }
  }
  return found;
}
