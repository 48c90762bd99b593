/** What is aimed at, and how it is read off the results. */
import type { Results } from "./report.js";

/** Median of a figure, or nothing. */
export type Read = (scenario: string, contestant: string, figure: string) => number | undefined;

export interface Target {
  readonly what: string;
  readonly target: string;
  /** Text of what was measured and whether it is met; nothing if it was not measured. */
  judge(read: Read): { readonly measured: string; readonly met: boolean } | undefined;
}

const n = (value: number, digits = 0) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });

/** A figure of ours that has a bound, maybe beside those of others. */
function bound(
  what: string,
  target: string,
  figures: (read: Read) => (number | undefined)[],
  say: (...values: number[]) => string,
  met: (...values: number[]) => boolean,
): Target {
  return {
    what,
    target,
    judge(read) {
      const values = figures(read);
      if (values.some((value) => value === undefined)) return undefined;
      const numbers = values as number[];
      return { measured: say(...numbers), met: met(...numbers) };
    },
  };
}

/**
 * Streams as fast as they come, of one scenario.
 * @param those what the rows after the first call them
 */
function unpaced(scenario: string, what: string, those: string): Target[] {
  const core = (read: Read, contestant: string) => read(scenario, contestant, "core@64");
  return [
    bound(
      what,
      "at least 200,000 events/s per core",
      (r) => [core(r, "lintel"), r(scenario, "lintel", "events@64")],
      (ours, wall) => `${n(ours)} per core-second, ${n(wall)} by the clock`,
      (ours) => ours >= 200_000,
    ),
    bound(
      `${those}, beside nginx`,
      "at least 0.85 of its events per core-second",
      (r) => [core(r, "lintel"), core(r, "nginx")],
      (ours, theirs) => n(ours / theirs, 2),
      (ours, theirs) => ours >= 0.85 * theirs,
    ),
    bound(
      `${those}, beside Portkey`,
      "at least 5 times its events/s",
      (r) => [core(r, "lintel"), core(r, "portkey")],
      (ours, theirs) => `${n(ours / theirs, 1)} times, per core-second`,
      (ours, theirs) => ours >= 5 * theirs,
    ),
  ];
}

export const targets: readonly Target[] = [
  bound(
    "JSON, 32 connections, everything on",
    "at most 65 CPU µs per request",
    (r) => [
      r("json", "lintel-full", "cpu@32"),
      r("json", "undici", "cpu@32"),
      r("json", "nginx", "cpu@32"),
    ],
    (ours, bare, nginx) => `${ours.toFixed(1)} µs (undici ${n(bare)}, nginx ${n(nginx)})`,
    (ours) => ours <= 65,
  ),
  bound(
    "the same, beside Portkey",
    "at least 15 times its requests/s",
    (r) => [r("json", "lintel-full", "rps@32"), r("json", "portkey", "rps@32")],
    (ours, theirs) => `${n(ours / theirs, 1)} times (${n(ours)} to ${n(theirs)})`,
    (ours, theirs) => ours >= 15 * theirs,
  ),
  ...unpaced("sse", "unpaced streams, 64 connections", "the same"),
  ...unpaced("sse-apart", "the same, each event in a write of the server's own", "these"),
  bound(
    "paced streams, 64 open: time to first token over direct",
    "under 0.8 ms at p50, 3 ms at p99",
    (r) => [
      r("paced64", "lintel", "first50"),
      r("paced64", "direct", "first50"),
      r("paced64", "lintel", "first99"),
      r("paced64", "direct", "first99"),
    ],
    (a, b, c, d) => `${n(a - b, 2)} ms and ${n(c - d, 2)} ms`,
    (a, b, c, d) => a - b < 0.8 && c - d < 3,
  ),
  bound(
    "paced streams, 64 open: one event in is one write out",
    "1 event in each read of the client",
    (r) => [r("paced64", "lintel", "merged"), r("paced64", "direct", "merged")],
    (ours, direct) => `${n(ours, 3)} (direct ${n(direct, 3)})`,
    (ours, direct) => ours <= direct * 1.02,
  ),
  bound(
    "paced streams, 1000 open: delay of an event, p50",
    "no worse than the bare undici proxy",
    (r) => [r("paced1000", "lintel", "delay50"), r("paced1000", "undici", "delay50")],
    (ours, bare) => `${n(ours, 1)} ms (undici ${n(bare, 1)} ms)`,
    (ours, bare) => ours <= bare,
  ),
  bound(
    "the same, memory for each stream",
    "under 50 KB",
    (r) => [r("paced1000", "lintel", "streamKB"), r("paced1000", "undici", "streamKB")],
    (ours, bare) => `${n(ours)} KB (undici ${n(bare)} KB)`,
    (ours) => ours < 50,
  ),
  bound(
    "gRPC server alone, unary calls/s of a core",
    "at least those of grpc-js",
    (r) => [r("grpc-alone", "edge", "unaryCore"), r("grpc-alone", "grpc-js", "unaryCore")],
    (ours, theirs) => `${n(ours)} (grpc-js ${n(theirs)})`,
    (ours, theirs) => ours >= theirs,
  ),
  bound(
    "gRPC server alone, streamed messages/s of a core",
    "at least those of grpc-js",
    (r) => [r("grpc-alone", "edge", "messagesCore"), r("grpc-alone", "grpc-js", "messagesCore")],
    (ours, theirs) => `${n(ours)} (grpc-js ${n(theirs)})`,
    (ours, theirs) => ours >= theirs,
  ),
  bound(
    "gRPC through the gateway, unary",
    "at most 110 CPU µs per call",
    (r) => [r("grpc", "lintel", "unaryCpu"), r("grpc", "lintel-full", "unaryCpu")],
    (plain, full) => `${n(plain)} µs; ${n(full)} µs with everything on`,
    (plain) => plain <= 110,
  ),
  bound(
    "gRPC through the gateway, streams",
    "at least 1,200 streams of 100 messages/s per core",
    (r) => [r("grpc", "lintel", "streamCore"), r("grpc", "lintel-full", "streamCore")],
    (plain, full) => `${n(plain)} per core-second; ${n(full)} with everything on`,
    (plain) => plain >= 1200,
  ),
  bound(
    "an image of 2 MB",
    "at most twice nginx's time",
    (r) => [r("image", "lintel", "rps@4"), r("image", "nginx", "rps@4")],
    (ours, theirs) => `${n(theirs / ours, 1)} times`,
    (ours, theirs) => theirs <= 2 * ours,
  ),
  bound(
    "cold start to /healthz",
    "under 0.5 s",
    (r) => [r("start", "lintel", "healthMs")],
    (ms) => `${n(ms)} ms`,
    (ms) => ms < 500,
  ),
  bound(
    "idle memory without local models",
    "under 90 MB",
    (r) => [r("start", "lintel", "idleMB")],
    (mb) => `${n(mb)} MB`,
    (mb) => mb < 90,
  ),
  bound(
    "npm ci --omit=optional",
    "under 60 MB of production dependencies",
    (r) => [r("install", "lintel", "installMB")],
    (mb) => `${n(mb)} MB`,
    (mb) => mb < 60,
  ),
];

/** Reads medians. */
export const reader =
  ({ scenarios }: Results): Read =>
  (scenario, contestant, figure) => {
    const values = scenarios[scenario]?.figures[contestant]?.[figure];
    return values && median(values);
  };

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}
