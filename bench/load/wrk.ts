/** Load by wrk. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { output } from "../cores.js";

export interface WrkResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Responses that were no success, and connections that broke. */
  readonly failures: number;
}

/** Sends the same request again and again. */
export async function wrk(options: {
  readonly folder: string;
  readonly core: number;
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}): Promise<WrkResult> {
  const script = join(options.folder, "wrk.lua");
  const headers = Object.entries(options.headers)
    .map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)
    .join("\n");
  writeFileSync(
    script,
    `wrk.method = "POST"
wrk.body = [==[${options.body}]==]
${headers}
done = function(s)
  local e = s.errors
  io.write(string.format("RESULT %d %d %d\\n", s.requests, s.duration,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`,
  );
  const text = await output(options.core, "wrk", [
    ...["-t", "1", "-c", String(options.connections), "-d", `${options.seconds}s`],
    ...["--timeout", "20s", "-s", script, options.url],
  ]);
  const [, requests, micros, failures] = /RESULT (\d+) (\d+) (\d+)/.exec(text) ?? [];
  if (!requests || !micros) throw new Error(`wrk said: ${text}`);
  return {
    requests: Number(requests),
    perSecond: (Number(requests) / Number(micros)) * 1e6,
    failures: Number(failures),
  };
}
