/** What may be a mistake in a configuration that can be used. */
import { anyAddress } from "./admin.js";
import { budgetWarnings } from "./budget-warnings.js";
import { certificateWarnings } from "./certificate-warnings.js";
import { mediaWarnings } from "./media-warnings.js";
import { nameWarnings } from "./name-warnings.js";
import { orderWarnings } from "./order-warnings.js";
import { priceWarnings } from "./price-warnings.js";
import { formatListen, isPublic } from "./quantities.js";
import { quotaWarnings } from "./quota-warnings.js";
import { safetyWarnings } from "./safety-warnings.js";
import type { BackendConfig, Config } from "./schema.js";
import { teamWarnings } from "./team-warnings.js";
import { timeoutWarnings } from "./timeout-warnings.js";

/** One line for each. */
export function warningsOf(config: Config): string[] {
  const warnings: string[] = [];
  const { auth, listen } = config;
  const reachable = listen.filter(isPublic);
  if (auth.mode === "none" && reachable.length > 0) {
    const where = reachable.map(formatListen).join(", ");
    warnings.push(
      `auth.mode is none, and ${where} can be reached from other machines: anybody there may call`,
    );
  }
  const open = config.tls ? [] : (config.admin?.listen ?? (config.admin ? listen : []));
  const unsafe = open.filter(isPublic);
  if (unsafe.length > 0) {
    const where = unsafe.map(formatListen).join(", ");
    warnings.push(
      `admin is served without TLS at ${where}: whoever listens in on the way has the administrators' tokens`,
    );
  }
  if (auth.mode !== "token" && auth.tokens.length > 0) {
    warnings.push(`auth.tokens are not looked at, because auth.mode is ${auth.mode}`);
  }
  if (config.trust_proxy === true) warnings.push(...boundWarnings(config));
  if (auth.mode !== "token" && auth.teams.length > 0) {
    warnings.push(`auth.teams are not looked at, because auth.mode is ${auth.mode}`);
  }
  if (auth.mode !== "token" && config.limits.team) {
    warnings.push(`limits.team limits nobody, because auth.mode is ${auth.mode}`);
  }
  if (auth.mode !== "token" && auth.oidc.length > 0) {
    warnings.push(`auth.oidc is not looked at, because auth.mode is ${auth.mode}`);
  }
  if (auth.mode !== "token" && config.console.sign_in.length > 0) {
    warnings.push(`console.sign_in is not looked at, because auth.mode is ${auth.mode}`);
  }
  if (config.media.s3 && config.media.store !== "s3") {
    warnings.push("media.s3 is not looked at, because media.store is filesystem");
  }
  if (config.memory_budget !== undefined && !config.backends?.some(countsMemory)) {
    warnings.push("memory_budget bounds nothing: there is no backend of type llama or onnx");
  }
  const { retry } = config.routing;
  if (retry.blocked && retry.attempts === 1) {
    warnings.push("routing.retry.blocked does nothing: routing.retry.attempts is 1");
  }
  if (config.backends?.length === 0) warnings.push("backends is empty: there is nothing to serve");
  for (const backend of config.backends ?? []) {
    // Who is on a socket was let in by the file system.
    if (backend.type !== "node" || backend.token || backend.address.startsWith("unix:")) continue;
    warnings.push(
      `backend "${backend.name}" has no token, and a node on a port refuses calls without one: lintel node takes any`,
    );
  }
  return [
    ...warnings,
    ...budgetWarnings(config),
    ...certificateWarnings(config),
    ...mediaWarnings(config),
    ...nameWarnings(config),
    ...orderWarnings(config),
    ...priceWarnings(config),
    ...quotaWarnings(config),
    ...safetyWarnings(config),
    ...teamWarnings(config),
    ...timeoutWarnings(config),
  ];
}

const countsMemory = ({ type }: BackendConfig) => type === "llama" || type === "onnx";

/** Who may call from some addresses alone, where everybody may write any into a header. */
function boundWarnings({ auth, admin }: Config): string[] {
  const bound = ({ from, rules = [] }: { from?: unknown; rules?: readonly { from?: unknown }[] }) =>
    from !== undefined || rules.some((rule) => rule.from !== undefined);
  const named = (what: string, verb: string) => (one: { readonly name: string }) =>
    `${what} ${JSON.stringify(one.name)} may ${verb} from some addresses alone, and trust_proxy is true: ${anyAddress}`;
  return [
    ...auth.tokens.filter(bound).map(named("the token of", "be used")),
    ...auth.oidc.filter(bound).map(named("callers of the issuer", "call")),
    ...(admin?.tokens ?? []).filter(bound).map(named("the administrator's token", "be used")),
  ];
}
