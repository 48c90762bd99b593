/** Load by wrk. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cores, output } from "../cores.js";

export interface WrkResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Responses that were no success, and connections that broke. */
  readonly failures: number;
}

/**
 * Runs so far: each begins with another header field, as callers differ. What reads headers is
 * compiled anew for the first few orders that it meets; left to itself, wrk orders them at random
 * in each run, and some of that came to be measured.
 */
let runs = 0;

/** Sends the same request again and again. */
export async function wrk(options: {
  readonly folder: string;
  readonly core: Cores;
  /** Default: 1. */
  readonly threads?: number;
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}): Promise<WrkResult> {
  const script = join(options.folder, "wrk.lua");
  const { host, pathname, search } = new URL(options.url);
  const fields = Object.entries({
    host,
    ...options.headers,
    "content-length": String(Buffer.byteLength(options.body)),
  }).map(([name, value]) => `${name}: ${value}\\r\\n`);
  const first = runs++ % fields.length;
  const head = [...fields.slice(first), ...fields.slice(0, first)].join("");
  writeFileSync(
    script,
    `local whole = "POST ${pathname}${search} HTTP/1.1\\r\\n${head}\\r\\n" .. [==[${options.body}]==]
request = function() return whole end
done = function(s)
  local e = s.errors
  io.write(string.format("RESULT %d %d %d\\n", s.requests, s.duration,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`,
  );
  const text = await output(options.core, "wrk", [
    ...["-t", String(options.threads ?? 1), "-c", String(options.connections)],
    ...["-d", `${options.seconds}s`, "--timeout", "20s", "-s", script, options.url],
  ]);
  const [, requests, micros, failures] = /RESULT (\d+) (\d+) (\d+)/.exec(text) ?? [];
  if (!requests || !micros) throw new Error(`wrk said: ${text}`);
  return {
    requests: Number(requests),
    perSecond: (Number(requests) / Number(micros)) * 1e6,
    failures: Number(failures),
  };
}
