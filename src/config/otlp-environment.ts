/** OpenTelemetry's variables, where they can't count as they are. */
import { type OtlpProtocol, type OtlpSettings, otlpProtocols } from "../telemetry/settings.js";
import { httpAddress, httpUrl, withoutFragment } from "./http-fields.js";
import type { Problem } from "./problems.js";

type Env = Readonly<Record<string, string | undefined>>;

/** The value of a variable of the exporters; blanks are none. */
export const otlpVariable = (env: Env, name: string): string | undefined =>
  env[`OTEL_EXPORTER_OTLP_${name}`]?.trim() || undefined;

/** Whether OpenTelemetry is switched off by its own variable. */
export const otelDisabled = (env: Env): boolean => env.OTEL_SDK_DISABLED?.toLowerCase() === "true";

/** What OpenTelemetry has where nobody says otherwise; every collector takes it. */
const usualProtocol: OtlpProtocol = "http/protobuf";

/** How a signal goes out by the variables; with the one that asks for something else, which is not spoken. */
export function otlpProtocolOf(
  signal: "TRACES" | "METRICS",
  env: Env,
): { readonly protocol: OtlpProtocol; readonly unspoken?: { name: string; value: string } } {
  const name = [`${signal}_PROTOCOL`, "PROTOCOL"].find((one) => otlpVariable(env, one));
  const value = name && otlpVariable(env, name);
  if (value === undefined) return { protocol: usualProtocol };
  const spoken = otlpProtocols.find((one) => one === value);
  if (spoken) return { protocol: spoken };
  return { protocol: usualProtocol, unspoken: { name: `OTEL_EXPORTER_OTLP_${name}`, value } };
}

/** A path is added to the first; the others are asked as they stand. */
const addresses = {
  ENDPOINT: httpUrl,
  TRACES_ENDPOINT: httpAddress.check(withoutFragment),
  METRICS_ENDPOINT: httpAddress.check(withoutFragment),
};

/** Addresses that are none: the exporters would go to this machine instead, without a word. */
export function otlpProblems(env: Env): Problem[] {
  if (otelDisabled(env)) return [];
  return Object.entries(addresses).flatMap(([name, schema]) => {
    const value = otlpVariable(env, name);
    if (value === undefined) return [];
    const issues = schema.safeParse(value, { jitless: true }).error?.issues ?? [];
    const field = `OTEL_EXPORTER_OTLP_${name}`;
    return issues.map(({ message }) => ({ source: "environment", field, message }));
  });
}

/** The port that collectors listen at for OTLP over gRPC; nearly everybody's is this. */
const grpcPort = "4317";

/**
 * What is asked for and not done, one line each.
 * @param isSaid whether the file names a protocol, so that the variables' does not count. Default: no
 */
export function otlpWarnings(otlp: OtlpSettings | undefined, env: Env, isSaid = false): string[] {
  const warnings = new Set<string>();
  const port = (signal: "TRACES" | "METRICS") => {
    const name = [`${signal}_ENDPOINT`, "ENDPOINT"].find((one) => otlpVariable(env, one)) ?? "";
    const { endpoint = otlpVariable(env, name) } = otlp ?? {};
    if (endpoint === undefined || new URL(endpoint).port !== grpcPort) return;
    const where = otlp?.endpoint ? "telemetry.otlp.endpoint" : `OTEL_EXPORTER_OTLP_${name}`;
    warnings.add(
      `${where} names port ${grpcPort}, where collectors speak gRPC: what goes out is HTTP, for which theirs is 4318`,
    );
  };
  const protocol = (signal: "TRACES" | "METRICS") => {
    const { unspoken } = otlpProtocolOf(signal, env);
    // What the file says counts more.
    if (unspoken === undefined || isSaid) return;
    const { name, value } = unspoken;
    warnings.add(`${name} is ${value}, which is not spoken: what goes out is ${usualProtocol}`);
  };
  if (otlp?.traces) {
    port("TRACES");
    protocol("TRACES");
  }
  if (otlp?.metrics) {
    port("METRICS");
    protocol("METRICS");
    const name = "METRICS_TEMPORALITY_PREFERENCE";
    const value = otlpVariable(env, name);
    if (value !== undefined && value.toLowerCase() !== "cumulative") {
      warnings.add(`OTEL_EXPORTER_OTLP_${name} is ${value}, but metrics are always cumulative`);
    }
  }
  return [...warnings];
}
