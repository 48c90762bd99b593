/** Durations, sizes and addresses as people write them. */
import { isIPv4 } from "node:net";
import { resolve } from "node:path";
import * as z from "zod";
import { socketPathIn } from "../socket-path.js";

const durationUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const sizeUnits: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

const durationPattern = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/;
const sizePattern = /^(\d+(?:\.\d+)?) ?(B|[kK]B|MB|GB|TB|KiB|MiB|GiB|TiB)$/;

/** A number in quotes, which is also what comes out of the environment. */
const bare = /^\d+(?:\.\d+)?$/;

/** Definitions of what is written for a duration. */
const durations = new WeakSet<z.core.$ZodType>();

/**
 * How many milliseconds a duration without a unit stands for, where they are fewer than a second:
 * whoever knows others' configurations meant seconds, or hours, of some of these.
 * @returns `undefined` for all others
 */
export function fewMilliseconds(schema: z.core.$ZodType, value: unknown): number | undefined {
  if (!durations.has(schema) || !bare.test(String(value))) return undefined;
  const ms = Number(value);
  return ms > 0 && ms < 1000 ? ms : undefined;
}

function quantity(pattern: RegExp, units: Readonly<Record<string, number>>, message: string) {
  const text = new RegExp(`${pattern.source}|${bare.source}`);
  const written = z.union([z.number().min(0), z.string().regex(text, { error: message })], {
    error: message,
  });
  if (units === durationUnits) durations.add(written);
  return written.transform((value) => {
    const [, amount = "", unit = ""] = pattern.exec(String(value)) ?? [null, String(value), ""];
    return Math.round(Number(amount) * (units[unit] ?? 1));
  });
}

/** A duration: `24h`, `30s`, or a number of milliseconds. Comes out in milliseconds. */
export const duration = quantity(
  durationPattern,
  durationUnits,
  "must be a duration such as 500ms, 30s, 15m, 24h or 7d, or a number of milliseconds",
);

/** A duration as people write it, in the largest unit that it is a whole number of. */
export function spelled(ms: number): string {
  const units = Object.entries(durationUnits).toReversed();
  const [unit = "ms", length = 1] = units.find(([, length]) => ms % length === 0) ?? [];
  return `${ms / length}${unit}`;
}

const positive = (ms: number) => ms > 0;
const positiveMessage = { error: "must be longer than 0" };

/** The longest that things are kept, which is as good as for ever. Milliseconds. */
const longestPeriod = 36_500 * 86_400_000;

/**
 * A duration for which things are kept, where 0 means something of its own: at most 100 years. Dates,
 * whole numbers of stores and ages in headers end somewhere beyond, each elsewhere.
 */
export const periodOrNone = duration.refine((ms) => ms <= longestPeriod, {
  error: "must be at most 36500d",
});

/** The same, longer than 0. */
export const period = periodOrNone.refine(positive, positiveMessage);

/** Longest that Node's timers can wait, in whole days; beyond they fire at once. Milliseconds. */
export const longestWait = 24 * 86_400_000;

/** A duration that is waited, where 0 means something of its own: at most 24 days. */
export const waitOrNone = duration.refine((ms) => ms <= longestWait, {
  error: "must be at most 24d",
});

/** A duration that is waited: longer than 0, at most 24 days. */
export const wait = waitOrNone.refine(positive, positiveMessage);

/** As `wait`, and at least so many milliseconds. */
export const waitOfAtLeast = (least: number) =>
  wait.refine((ms) => ms >= least, { error: `must be at least ${spelled(least)}` });

/** Last time that `time` can read, the end of the year 9999. Milliseconds since the epoch. */
export const latestTime = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const timeMessage = "must be a date or a time such as 2027-01-31 or 2027-01-31T18:00:00Z";

/** Whether a month has this day: `Date` makes the 3rd of March of the 31st of February. */
function isDay(date: string): boolean {
  const at = Date.parse(date);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date);
}

/** A time; a date alone is its beginning in UTC. Comes out in milliseconds since the epoch. */
export const time = z
  .string({ error: timeMessage })
  .regex(/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/, {
    error: timeMessage,
    abort: true,
  })
  .refine((text) => isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text)), {
    error: timeMessage,
  })
  .transform((text) => Date.parse(text));

/** A size: `1GiB`, `500kB`, or a number of bytes. Comes out in bytes. */
export const size = quantity(
  sizePattern,
  sizeUnits,
  "must be a size such as 512KiB, 1MiB or 2GB, or a number of bytes",
);

/** Where to listen. */
export type ListenAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

/** What an address to listen on may look like. */
export const listenMessage =
  "must be host:port, :port, a port from 0 to 65535, or unix:/path/to.sock";

/**
 * Reads an address to listen on: `127.0.0.1:8080`, `[::1]:8080`, `:8080` (every
 * interface), `8080` (this machine only), `unix:/run/lintel.sock`.
 * @returns `undefined` if it is none of these
 */
export function parseListen(text: string | number): ListenAddress | undefined {
  if (typeof text === "string" && text.startsWith("unix:")) {
    const path = socketPathIn(text);
    return path === "" ? undefined : { path };
  }
  const match = /^(?:(\[[0-9A-Fa-f:.%\w]+\]|[^\s:[\]/"']*):)?(\d{1,5})$/.exec(String(text));
  if (!match) return undefined;
  const port = Number(match[2]);
  if (port > 65_535) return undefined;
  if (match[1] === undefined) return { host: "127.0.0.1", port };
  const host = match[1].replace(/^\[|\]$/g, "");
  return { host: host === "" || host === "*" ? "::" : host, port };
}

/** An address to listen on, as a field. */
export const listenAddress = z
  .union([z.string(), z.int()], { error: listenMessage })
  .transform((value, context) => {
    const address = parseListen(value);
    if (address) return address;
    context.addIssue({ code: "custom", message: listenMessage });
    return z.NEVER;
  });

/** The same with a socket's path absolute. */
export const absoluteAddress = (address: ListenAddress, directory: string): ListenAddress =>
  "path" in address ? { path: resolve(directory, address.path) } : address;

/** An address to listen on as people write it. */
export function formatListen(address: ListenAddress): string {
  if ("path" in address) return `unix:${address.path}`;
  const { host, port } = address;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Why two addresses can't be listened on together, as what is said of the one.
 * @param name of the other
 * @returns `undefined` if they can: any free port may be wanted twice
 */
export function conflict(
  one: ListenAddress,
  other: ListenAddress,
  name = formatListen(other),
): string | undefined {
  if ("port" in one && one.port === 0) return undefined;
  if (formatListen(one) === formatListen(other)) return `is the same as ${name}; must be unique`;
  if ("path" in one || "path" in other || one.port !== other.port) return undefined;
  return takesAlso(one.host, other.host) || takesAlso(other.host, one.host)
    ? `can't be listened on beside ${name}: one of them takes every address`
    : undefined;
}

/** Whether it stands for every address, this one too: that of IPv6 for those of IPv4 as well. */
const takesAlso = (every: string, host: string): boolean =>
  every === "::" || (every === "0.0.0.0" && isIPv4(host));

/** Whether other machines can reach this address. */
export function isPublic(address: ListenAddress): boolean {
  if ("path" in address) return false;
  const { host } = address;
  return !(host === "localhost" || host === "::1" || /^127\./.test(host));
}
