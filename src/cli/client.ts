/** What the commands that call a Lintel have in common: where it is, and what it answers. */

import type { DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import * as z from "zod";
import { ClientTls } from "../backends/http/client-tls.js";
import { isAddress } from "../backends/node/address.js";
import { channelTo } from "../backends/node/channel.js";
import { readCertificates } from "../certificates.js";
import { headerValue, withoutUser } from "../config/http-fields.js";
import { fromConnectError } from "../core/connect-error.js";
import { reasonOf as causesOf, silent } from "../core/log.js";
import { remedyOf, tlsFailureOf } from "../core/tls-errors.js";
import { isSocketPath, socketMessage, socketPathIn } from "../socket-path.js";
import type { Given, Option } from "./command.js";
import { UsageError } from "./command.js";
import { say } from "./output.js";

/** The options that choose a server. */
export const serverOptions = {
  server: {
    value: "URL",
    short: "s",
    help: "a Lintel: http://host:port, https://host or unix:/path (default: $LINTEL_SERVER, then http://127.0.0.1:8080)",
  },
  token: { value: "TOKEN", help: 'its token (default: $LINTEL_TOKEN, then "lintel-cli")' },
  model: { value: "NAME", short: "m", help: "the model (default: the server's own)" },
} as const satisfies Record<string, Option>;

/** Where a command has the token from that it calls with. */
export interface Credential {
  readonly option: string;
  /** Of the environment. */
  readonly variable: string;
  /** Absent: one has to be said. */
  readonly fallback?: string;
}

const callers: Credential = { option: "token", variable: "LINTEL_TOKEN", fallback: "lintel-cli" };

/**
 * Calls a server, and says in words what it refused.
 * @param use gets a client, the headers of every call, a signal that Ctrl-C aborts, and what
 *   says in words why a call failed, for those that go on then
 * @param credential whose token it calls with. Default: a caller's
 * @returns the exit code: of `use`, 1 if a call failed, 130 after Ctrl-C
 * @throws UsageError if the address is not one, or a certificate can't be used
 */
export async function withServer<S extends DescService>(
  given: Given,
  service: S,
  use: (
    client: Client<S>,
    options: { headers: Headers; signal: AbortSignal },
    explain: (thrown: unknown) => void,
  ) => Promise<number>,
  credential: Credential = callers,
): Promise<number> {
  const server = optionOr(given, "server", "LINTEL_SERVER", "http://127.0.0.1:8080");
  const address = server.value;
  if (!isAddress(address)) {
    throw new UsageError(`${server.from} must be http://host:port, https://host or unix:/path`);
  }
  // Nobody is sent them, and what is said of the address would tell them.
  const user = z
    .string()
    .check(withoutUser(`--${credential.option}`))
    .safeParse(address).error;
  if (user) throw new UsageError(`${server.from} ${user.issues[0]?.message}`);
  if (address.startsWith("unix:") && !isSocketPath(socketPathIn(address))) {
    throw new UsageError(`${server.from} ${socketMessage}`);
  }
  const { option, variable, fallback = "" } = credential;
  const { value: token, from } = optionOr(given, option, variable, fallback);
  if (token === "") throw new UsageError(`--${option} or ${variable} must say the token`);
  if (!headerValue.safeParse(token).success) {
    throw new UsageError(`${from} has letters that no header can carry`);
  }
  const { session, transport } = channelTo(address, {}, certificatesFor(address));
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  const explain = (thrown: unknown) => say(`lintel: ${reasonOf(thrown, address)}`);
  process.once("SIGINT", interrupt);
  try {
    const headers = new Headers({ authorization: `Bearer ${token}` });
    return await use(createClient(service, transport), { headers, signal: stop.signal }, explain);
  } catch (thrown) {
    if (stop.signal.aborted) return 130;
    if (thrown instanceof UsageError) throw thrown;
    explain(thrown);
    return 1;
  } finally {
    process.off("SIGINT", interrupt);
    session.abort();
  }
}

/** What an option says, else the environment, where an empty variable says nothing. */
function optionOr(given: Given, option: string, variable: string, fallback: string) {
  const value = given.text(option);
  if (value !== undefined) return { value, from: `--${option}` };
  return { value: process.env[variable] || fallback, from: variable };
}

/** Files of certificates for https://, in the environment. */
const variables = { ca: "LINTEL_CA", cert: "LINTEL_CERT", key: "LINTEL_KEY" } as const;

/** What the environment says of certificates; absent: nothing. @throws UsageError */
function certificatesFor(address: string): ClientTls | undefined {
  const { LINTEL_CA: ca, LINTEL_CERT: cert, LINTEL_KEY: key } = process.env;
  const files = { ca: ca || undefined, cert: cert || undefined, key: key || undefined };
  if (!address.startsWith("https:") || !Object.values(files).some(Boolean)) return undefined;
  if (Boolean(cert) !== Boolean(key)) {
    throw new UsageError("LINTEL_CERT and LINTEL_KEY are of no use without each other");
  }
  const [problem] = readCertificates(files).problems;
  if (problem) throw new UsageError(`${variables[problem.part]}: ${problem.message}`);
  return new ClientTls(files, "", silent);
}

function reasonOf(thrown: unknown, address: string): string {
  const other = hasWords(thrown)
    ? undefined
    : (connectionReason(thrown, address) ?? foreignAnswer(thrown, address));
  if (other !== undefined) return other;
  const { code } = fromConnectError(thrown);
  // Of a proxy, which answers for a Lintel that is away.
  if (code === "unavailable" && hasStatus(thrown) && !hasWords(thrown) && wordsOf(thrown) !== "") {
    return `no Lintel answers at ${address}: ${wordsOf(thrown)}`;
  }
  const unreachable = code === "upstream_unreachable" || code === "unavailable";
  // Another Lintel's words are about its model servers; this is about the Lintel itself.
  return unreachable && !hasWords(thrown) ? `nobody answers at ${address}` : wordsOf(thrown);
}

/** What the system says of an address, where that tells more than that nobody is there. */
const noConnection: Readonly<Record<string, string>> = {
  ENOENT: "there is no such socket",
  ENOTDIR: "there is no such socket",
  EACCES: "not permitted",
  EPERM: "not permitted",
  ENOTFOUND: "there is no such host name",
  EAI_AGAIN: "the host name can't be looked up",
};

/** Why there is no connection that calls could run on; absent: that is not the reason. */
function connectionReason(thrown: unknown, address: string): string | undefined {
  const cause = causeOf(thrown);
  const why = noConnection[cause];
  if (why !== undefined) return `nobody answers at ${address}: ${why}`;
  const clear = address.startsWith("http://");
  if (cause === "ERR_HTTP2_ERROR" || cause === "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL") {
    const other = clear ? ", and not at https://" : "";
    return `${address} does not speak HTTP/2: is a Lintel there${other}?`;
  }
  const failure = tlsFailureOf({ code: cause });
  if (failure === "wanted" || failure === "handshake") {
    const wants = failure === "wanted" ? "wants" : "may want";
    return `${address} ${wants} a certificate: LINTEL_CERT and LINTEL_KEY name one and its key`;
  }
  if (failure === "refused") {
    return `${address} does not take the certificate in LINTEL_CERT: ${causesOf((thrown as Error).cause)}`;
  }
  if (cause === "ECONNRESET" && remedyOf((thrown as Error).cause) !== undefined) {
    return `${address} closed the connection: it may not take the certificate in LINTEL_CERT`;
  }
  if (failure === "cleartext") {
    return `${address} does not speak TLS: is it http://?`;
  }
  const remedy = remedyOf({ code: cause });
  if (remedy !== undefined) {
    return `the certificate of ${address} is not trusted (${wordsOf(thrown)}); ${remedy}`;
  }
  // Nobody here has left: that has been told before.
  if ((thrown as { code?: unknown }).code === Code.Canceled) {
    return `${address} closed the connection${clear ? ": is it https://?" : ""}`;
  }
  return undefined;
}

/** What to say of an answer that is none of gRPC, which its client tells in words alone; absent: it is one. */
function foreignAnswer(thrown: unknown, address: string): string | undefined {
  const [status] = /^HTTP \d+$|^unsupported content type /.exec(wordsOf(thrown)) ?? [];
  if (status === undefined) return undefined;
  const answer = status.startsWith("HTTP") ? status : "something else than gRPC";
  return `${address} answers with ${answer}: is a Lintel there?`;
}

/** The code of the error of Node that a call failed with. */
const causeOf = (thrown: unknown): string =>
  String((thrown as { cause?: { code?: unknown } }).cause?.code ?? "");

const wordsOf = (thrown: unknown): string => {
  const { rawMessage, message } = thrown as { rawMessage?: string; message: string };
  return rawMessage ?? message;
};

/** Whether the server said something itself; what its details are, a lost connection has none. */
const hasWords = (thrown: unknown): boolean =>
  ((thrown as { details?: readonly unknown[] }).details ?? []).length > 0;

/** Whether the server, or a proxy before it, said how the call ended. */
const hasStatus = (thrown: unknown): boolean =>
  thrown instanceof ConnectError && thrown.metadata.has("grpc-status");

/**
 * A number from an option.
 * @throws UsageError
 */
export function numberOf(given: Given, name: string): number | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value))
    throw new UsageError(`--${name} must be a number`);
  return value;
}

/**
 * A whole number from an option.
 * @throws UsageError
 */
export function integerOf(given: Given, name: string): number | undefined {
  const value = numberOf(given, name);
  if (value === undefined) return undefined;
  if (!Number.isInteger(value)) throw new UsageError(`--${name} must be a whole number`);
  // Whatever the contract allows is the server's to say; it can't say it of what has no int32.
  if (Math.abs(value) >= 2 ** 31) throw beyond(name, value);
  return value;
}

/**
 * What `--seed` says: more than other whole numbers may.
 * @throws UsageError
 */
export function seedOf(given: Given): bigint | undefined {
  const text = given.text("seed");
  if (text === undefined) return undefined;
  if (!/^-?\d+$/.test(text)) throw new UsageError("--seed must be a whole number");
  const seed = BigInt(text);
  if (BigInt.asIntN(64, seed) !== seed) throw beyond("seed", seed);
  return seed;
}

const beyond = (name: string, value: number | bigint) =>
  new UsageError(`--${name} is too ${value > 0 ? "large" : "small"}`);
