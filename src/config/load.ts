/** Loads the configuration, or a part of it. */
import { isIPv6 } from "node:net";
import { proxyProblems } from "../backends/http/proxy.js";
import { withoutBrackets } from "../hostname.js";
import { isSocketPath, socketMessage } from "../socket-path.js";
import { type FileSources, readFile } from "./file.js";
import { otlpProblems, otlpWarnings } from "./otlp-environment.js";
import { ConfigError, type Finding, formatPath, type Problem } from "./problems.js";
import {
  absoluteAddress,
  conflict,
  formatListen,
  type ListenAddress,
  listenMessage,
  parseListen,
} from "./quantities.js";
import { type Config, defaultListen } from "./schema.js";
import { keepSecretsOf } from "./secrets.js";
import { otlpSettings } from "./telemetry.js";
import { warningsOf } from "./warnings.js";

/** Where the configuration comes from. `HOST` and `PORT` make one address, in place of all of `listen`. */
export interface ConfigSources extends FileSources {
  /** Addresses that replace `listen` (`--listen`). */
  readonly listen?: readonly string[] | undefined;
}

/** A configuration that can be used. */
export interface LoadedConfig {
  readonly config: Config;
  /** The file as it was named; `undefined` without one. */
  readonly file: string | undefined;
  /** What stood in it; `undefined` without one. */
  readonly text: string | undefined;
  /** What may be a mistake, one line each. */
  readonly warnings: readonly string[];
}

/**
 * Loads the configuration.
 * @throws ConfigError with every mistake
 */
export async function loadConfig(sources: ConfigSources = {}): Promise<LoadedConfig> {
  const { cwd = process.cwd(), env = process.env } = sources;
  const read = await readFile(sources);
  const { file, config, problems, text, warnings: written = [] } = read;
  const overrides: Problem[] = [];
  const listen =
    sources.listen && sources.listen.length > 0
      ? listenOptions(sources.listen, cwd, overrides)
      : listenFromEnvironment(config?.listen ?? [], env, overrides);
  overrides.push(...otlpProblems(env));
  overrides.push(...proxyProblems(env).map((problem) => ({ source: "environment", ...problem })));
  if (config === undefined || problems.length > 0 || overrides.length > 0) {
    throw new ConfigError([...problems, ...overrides]);
  }
  const effective = {
    ...config,
    listen: listen.filter((address) => address !== undefined),
  };
  const unheard = sources.listen?.length ? [] : replaced(config.listen, effective.listen);
  const taken = addressOfMetrics(effective) ?? addressOfAdmin(effective);
  if (taken) {
    const { path, message } = taken;
    const position = read.position?.(path);
    const field = formatPath(path);
    throw new ConfigError([{ source: file ?? "--listen", position, field, message }]);
  }
  keepSecretsOf(effective, env);
  const { otlp } = effective.telemetry;
  const untold = otlpWarnings(otlpSettings(otlp, env), env, otlp?.protocol !== undefined);
  const warnings = [...written, ...unheard, ...warningsOf(effective), ...untold];
  return { config: effective, file, text, warnings };
}

/** Sections of the configuration to which these fields belong. */
type Sections<Field extends string> = Pick<
  Config,
  (Field extends `${infer Section}.${string}` ? Section : Field) & keyof Config
>;

/**
 * Loads some fields of the configuration, for commands that need no others: whatever is wrong
 * elsewhere, such as a variable that only the gateway's environment has, does not matter to them.
 * @param fields such as `state.directory`; others of the same sections have their defaults
 * @throws ConfigError with every mistake in these fields
 */
export async function loadFields<const Field extends string>(
  fields: readonly Field[],
  sources: FileSources,
): Promise<{ readonly config: Sections<Field>; readonly file: string | undefined }> {
  const { config, file, problems } = await readFile(sources, fields);
  if (config === undefined || problems.length > 0) throw new ConfigError(problems);
  keepSecretsOf(config, sources.env ?? process.env);
  return { config, file };
}

/** The addresses of `--listen`; what is wrong with them goes to the problems. */
function listenOptions(
  texts: readonly string[],
  cwd: string,
  problems: Problem[],
): readonly (ListenAddress | undefined)[] {
  const addresses = texts.map((text) => listenOption(text, cwd, problems));
  for (const [i, address] of addresses.entries()) {
    for (const other of addresses.slice(0, i)) {
      const clash = address && other && conflict(address, other);
      if (!clash) continue;
      const message = `${formatListen(address)} ${clash}`;
      problems.push({ source: "--listen", field: "", message });
    }
  }
  return addresses;
}

/** An address cannot be listened on for calls and for metrics. */
function addressOfMetrics({ listen, telemetry }: Config): Finding | undefined {
  const { prometheus } = telemetry;
  if (typeof prometheus !== "object") return undefined;
  const own = prometheus.listen;
  for (const address of listen) {
    const clash = conflict(own, address);
    if (!clash) continue;
    const same = formatListen(own) === formatListen(address);
    const message = `${same ? "is also in listen" : clash}; say true to have the metrics there`;
    return { path: ["telemetry", "prometheus", "listen"], message };
  }
  return undefined;
}

/** Nor for calls and for administration alone, nor for this and for metrics. */
function addressOfAdmin({ listen, admin, telemetry }: Config): Finding | undefined {
  const { prometheus } = telemetry;
  const metrics = typeof prometheus === "object" ? [prometheus.listen] : [];
  for (const [i, own] of (admin?.listen ?? []).entries()) {
    const path = ["admin", "listen", i];
    for (const address of listen) {
      const clash = conflict(own, address);
      if (!clash) continue;
      const same = formatListen(own) === formatListen(address);
      const message = `${same ? "is also in listen" : clash}; leave it out to have administration there`;
      return { path, message };
    }
    for (const address of metrics) {
      const message = conflict(own, address, "telemetry.prometheus.listen");
      if (message) return { path, message };
    }
  }
  return undefined;
}

function listenOption(text: string, cwd: string, problems: Problem[]): ListenAddress | undefined {
  const parsed = parseListen(text);
  const address = parsed && absoluteAddress(parsed, cwd);
  if (!address) problems.push({ source: "--listen", field: "", message: listenMessage });
  else if ("path" in address && !isSocketPath(address.path)) {
    problems.push({ source: "--listen", field: "", message: socketMessage });
  }
  return address;
}

/** `HOST` and `PORT`, as many platforms set them, stand for one address in place of all. */
function listenFromEnvironment(
  configured: readonly ListenAddress[],
  env: NonNullable<FileSources["env"]>,
  problems: Problem[],
): readonly (ListenAddress | undefined)[] {
  if (!env.HOST && !env.PORT) return configured;
  const first = configured.find((address) => "port" in address);
  const { host, port } = first ?? defaultListen;
  const wantedPort = env.PORT ? Number(/^\d{1,5}$/.exec(env.PORT)?.[0] ?? Number.NaN) : port;
  if (!(wantedPort <= 65_535)) {
    problems.push({
      source: "environment",
      field: "PORT",
      message: "must be a port from 0 to 65535",
    });
  }
  const wantedHost = env.HOST ? hostIn(env.HOST) : host;
  if (wantedHost === undefined) {
    problems.push({
      source: "environment",
      field: "HOST",
      message: "must be an address or a name of this machine",
    });
  }
  return [wantedHost === undefined ? undefined : { host: wantedHost, port: wantedPort }];
}

/** What stands before the port in `listen`, or an address of IPv6 without brackets. */
function hostIn(text: string): string | undefined {
  const bare = withoutBrackets(text);
  if (isIPv6(bare)) return bare;
  const address = parseListen(`${text}:0`);
  return address && "host" in address ? address.host : undefined;
}

/** A warning where the environment's address stands in place of others that were configured. */
function replaced(
  configured: readonly ListenAddress[],
  effective: readonly ListenAddress[],
): string[] {
  const listening = effective.map(formatListen);
  const lost = configured.map(formatListen).filter((address) => !listening.includes(address));
  if (lost.length === 0 || lost.join() === formatListen(defaultListen)) return [];
  return [
    `listen: not on ${lost.join(", ")}, but on ${listening.join(", ")}: HOST and PORT of the environment replace it`,
  ];
}
