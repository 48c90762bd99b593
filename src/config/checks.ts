/** Mistakes that no field shows alone: names that must be unique or refer to others, files, order. */
import { resolve } from "node:path";
import { servedFields } from "../certificates.js";
import { fits } from "../core/pattern.js";
import { nameOver } from "../core/routing/names.js";
import { isSocketPath, socketMessage } from "../socket-path.js";
import { checkBackendFiles, checkDatabaseFiles, checkFiles } from "./certificate-checks.js";
import { checkConsole } from "./console.js";
import { checkDefaults } from "./default-checks.js";
import { checkPassHeaders } from "./header-checks.js";
import { checkIssuers } from "./issuer-checks.js";
import { checkMirrors } from "./mirror-checks.js";
import { checkModels } from "./model-checks.js";
import { checkPrices } from "./price-checks.js";
import { type Finding, formatPath, type Path } from "./problems.js";
import { absoluteAddress, conflict, parseListen } from "./quantities.js";
import { type Fields, fields, list, texts } from "./raw.js";
import { allServed, servedModels } from "./served.js";
import { didYouMean } from "./suggest.js";
import { checkTargets } from "./target-checks.js";
import { checkWorkers } from "./workers.js";
import { checkWorkflows } from "./workflow-checks.js";

/**
 * Finds mistakes across fields. Works on what stands in the file and not on
 * what the definition makes of it, so that these are reported together with
 * mistakes of single fields; whatever has the wrong type is passed over here.
 * @param directory relative paths count from here
 */
export function crossCheck(value: unknown, directory: string): Finding[] {
  const config = fields(value);
  const backends = list(config.backends);
  const models = list(config.models);
  return [
    ...duplicates(backends, ["backends"], "name"),
    ...checkModelLists(backends),
    ...duplicates(models, ["models"], "name"),
    ...duplicates(list(fields(config.limits).models), ["limits", "models"], "model"),
    ...checkPrices(list(config.prices)),
    ...duplicates(list(config.guards), ["guards"], "name"),
    ...checkListen(config.listen, directory),
    ...checkAdmin(config, directory),
    ...checkSockets(config, directory),
    ...checkAuth(fields(config.auth)),
    ...checkConsole(config),
    ...duplicates(list(fields(config.console).sign_in), ["console", "sign_in"], "name"),
    ...checkFiles(config.tls, ["tls"], directory, servedFields),
    ...checkDatabaseFiles(fields(config.state).database),
    ...["state", "cache"].flatMap((section) => {
      const { tls } = fields(fields(config[section]).redis);
      return checkFiles(tls, [section, "redis", "tls"], directory);
    }),
    ...checkBackendFiles(backends, directory),
    ...checkPassHeaders(backends),
    ...checkBounds(fields(config.bounds)),
    ...checkDefaults(models, fields(config.bounds)),
    ...checkModels(models),
    ...checkMirrors(models, backends),
    ...checkTargets({
      models,
      backends,
      listed: config.backends !== undefined,
      checked: texts(fields(fields(fields(config.routing).health).check).backends),
    }),
    ...checkDefaultModels(fields(config.default_models), models, backends),
    ...checkWorkflows(backends, directory),
    ...checkWorkers(config),
  ];
}

/**
 * Texts that stand in a list twice.
 * @param key of the fields, where the items are mappings
 */
function duplicates(items: readonly unknown[], at: Path, key?: string): Finding[] {
  const first = new Map<string, number>();
  const found: Finding[] = [];
  for (const [i, item] of items.entries()) {
    const value = key === undefined ? item : fields(item)[key];
    if (typeof value !== "string" || value === "") continue;
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, i);
    else {
      const other = `${key === undefined ? "" : "that of "}${formatPath([...at, earlier])}`;
      const path = [...at, i, ...(key === undefined ? [] : [key])];
      found.push({ path, message: `is the same as ${other}; must be unique` });
    }
  }
  return found;
}

const names = "the name of a model";
const paths = "a file, or a folder, of which all models are taken";

/** A backend has one model of a name, whatever it does, and no model is called by a pattern. */
const checkModelLists = (backends: readonly Fields[]): Finding[] =>
  backends.flatMap((backend, i) =>
    ["models", "image_models"].flatMap((name) => {
      const models = backend[name];
      if (!Array.isArray(models)) return [];
      const at = ["backends", i, name];
      return [
        ...duplicates(models, at),
        ...duplicates(models, at, "id"),
        ...duplicates(models, at, "name"),
        ...starred(models, at, backend.type === "embedded" ? paths : names),
      ];
    }),
  );

/** Names that are meant as patterns: they would be taken as they are, and no model is listed by such a name. */
const starred = (items: readonly unknown[], at: Path, what: string): Finding[] =>
  items.flatMap((item, i) => {
    const { id, name } = fields(item);
    const [key, text] = id === undefined ? ["name", name ?? item] : ["id", id];
    if (typeof text !== "string" || !text.includes("*")) return [];
    const path = [...at, i, ...(item === text ? [] : [key as string])];
    return [{ path, message: `must be ${what}; a * stands for nothing here` }];
  });

function checkListen(listen: unknown, directory: string, at: Path = ["listen"]): Finding[] {
  const addresses = (Array.isArray(listen) ? listen : []).map((text) => {
    const parsed =
      typeof text === "string" || typeof text === "number" ? parseListen(text) : undefined;
    return parsed && absoluteAddress(parsed, directory);
  });
  return addresses.flatMap((address, i) => {
    for (const [earlier, other] of addresses.slice(0, i).entries()) {
      const message = address && other && conflict(address, other, formatPath([...at, earlier]));
      if (message) return [{ path: [...at, i], message }];
    }
    return [];
  });
}

/** Tokens of administrators are nobody else's. */
function checkAdmin({ admin, auth }: Fields, directory: string): Finding[] {
  const at = ["admin", "tokens"];
  const { tokens, listen } = fields(admin);
  const own = list(tokens).map(lowerHash);
  const callers = list(fields(auth).tokens).map(lowerHash);
  return [
    ...duplicates(own, at, "name"),
    ...duplicates(own, at, "hash"),
    ...own.flatMap(({ hash }, i) => {
      const same = callers.findIndex((caller) => hash !== undefined && caller.hash === hash);
      if (same < 0) return [];
      const message = `is the same as that of auth.tokens[${same}]; an administrator's token opens nothing else`;
      return [{ path: [...at, i, "hash"], message }];
    }),
    ...checkListen(listen, directory, ["admin", "listen"]),
  ];
}

/** Paths of sockets that the system would cut off without a word. */
function checkSockets({ listen, telemetry, admin }: Fields, directory: string): Finding[] {
  const { prometheus } = fields(telemetry);
  const metrics = fields(prometheus).listen;
  const each = (at: Path, listen: unknown): (readonly [Path, unknown])[] =>
    Array.isArray(listen) ? listen.map((one, i) => [[...at, i], one]) : [[at, listen]];
  const named: readonly (readonly [Path, unknown])[] = [
    ...each(["listen"], listen),
    ...each(["admin", "listen"], fields(admin).listen),
    [["telemetry", "prometheus", "listen"], metrics],
  ];
  return named.flatMap(([path, text]) => {
    const address = typeof text === "string" ? parseListen(text) : undefined;
    if (!address || !("path" in address) || isSocketPath(resolve(directory, address.path))) {
      return [];
    }
    return [{ path, message: socketMessage }];
  });
}

function checkAuth(auth: Fields): Finding[] {
  const tokens = list(auth.tokens);
  const issuers = list(auth.oidc);
  return [
    ...duplicates(tokens, ["auth", "tokens"], "name"),
    ...duplicates(tokens.map(lowerHash), ["auth", "tokens"], "hash"),
    ...duplicates(list(auth.teams), ["auth", "teams"], "name"),
    ...list(auth.teams).flatMap(({ limits }, i) =>
      duplicates(list(fields(limits).models), ["auth", "teams", i, "limits", "models"], "model"),
    ),
    ...duplicates(issuers, ["auth", "oidc"], "name"),
    ...checkIssuers(issuers),
    ...tokens.flatMap((token, i) => {
      const name = String(token.name);
      const issuer = issuers.find((issuer) => name.startsWith(`${issuer.name}:`));
      const message = `begins like the callers of the issuer "${issuer?.name}"; must be told apart from them`;
      return issuer ? [{ path: ["auth", "tokens", i, "name"], message }] : [];
    }),
  ];
}

const lowerHash = (token: Fields): Fields =>
  typeof token.hash === "string" ? { ...token, hash: token.hash.toLowerCase() } : token;

function checkBounds(bounds: Fields): Finding[] {
  return Object.keys(bounds).flatMap((name) => {
    const { min, max } = fields(bounds[name]);
    return typeof min === "number" && typeof max === "number" && min > max
      ? [{ path: ["bounds", name], message: `min ${min} must not be greater than max ${max}` }]
      : [];
  });
}

/**
 * Default models can be checked where every backend says in the file what it serves. A model that
 * entries lead to under other names has none of its own.
 */
function checkDefaultModels(
  defaults: Fields,
  models: readonly Fields[],
  backends: readonly Fields[],
): Finding[] {
  if (!allServed(backends)) return [];
  const served = backends.flatMap((backend) =>
    servedModels(backend)?.filter((id) => nameOverIt(models, backend.name, id) === undefined),
  );
  const named = models.flatMap(({ name, aliases }) => [name, ...texts(aliases)]);
  const known = [...named, ...served].filter((name) => typeof name === "string");
  return ["chat", "image"].flatMap((task) => {
    const name = defaults[task];
    if (typeof name !== "string" || name === "" || known.includes(name)) return [];
    if (known.some((pattern) => fits(pattern, name))) return [];
    const over = backends
      .map((backend) => nameOverIt(models, backend.name, name))
      .find((other) => other !== undefined);
    const hint = over === undefined ? didYouMean(name, known) : `; it is called "${over}" here`;
    return [{ path: ["default_models", task], message: `there is no model "${name}"${hint}` }];
  });
}

/** The other name under which some entry leads to a backend's model. */
function nameOverIt(models: readonly Fields[], backend: unknown, id: unknown): string | undefined {
  if (typeof id !== "string") return undefined;
  for (const { name, model, backends, targets } of models) {
    if (typeof name !== "string") continue;
    const upstreams =
      targets === undefined
        ? [backends === undefined || texts(backends).includes(String(backend)) ? model : undefined]
        : list(targets).map((target) => (target.backend === backend ? target.model : undefined));
    for (const upstream of upstreams) {
      const over: string | undefined =
        typeof upstream === "string" ? nameOver(name, upstream, id) : undefined;
      if (over !== undefined && over !== id) return over;
    }
  }
  return undefined;
}
