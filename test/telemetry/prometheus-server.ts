/** A real Prometheus on loopback, which scrapes quickly. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { stringify } from "yaml";
import { freePort } from "../support/port.js";
import { program } from "./prometheus-programs.js";

/** A series with its value now. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** A rule as Prometheus has it. */
export interface RunRule {
  readonly name: string;
  readonly health: "unknown" | "ok" | "err";
  readonly lastError?: string;
  readonly state?: "inactive" | "pending" | "firing";
}

/**
 * Starts one; it runs until the test ends.
 * @param target host and port of a gateway
 * @param rules file of rules
 */
export async function startPrometheus(target: string, rules: string) {
  const folder = mkdtempSync(join(tmpdir(), "lintel-prometheus-"));
  const config = join(folder, "prometheus.yml");
  writeFileSync(
    config,
    stringify({
      global: { scrape_interval: "200ms", scrape_timeout: "200ms", evaluation_interval: "500ms" },
      rule_files: [rules],
      scrape_configs: [{ job_name: "lintel", static_configs: [{ targets: [target] }] }],
    }),
  );
  const port = await freePort();
  const child = spawn(
    program("prometheus"),
    [
      ...[`--config.file=${config}`, `--storage.tsdb.path=${join(folder, "data")}`],
      ...[
        `--web.listen-address=127.0.0.1:${port}`,
        "--log.level=warn",
        "--enable-feature=exemplar-storage",
      ],
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const ask = async (path: string, body?: URLSearchParams) => {
    const init = body ? { method: "POST", body } : {};
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, init);
    return answer.json() as Promise<{ status: string; error?: string; data: never }>;
  };
  await vi.waitFor(async () => {
    if (child.exitCode !== null) return;
    if ((await ask("status/config")).status !== "success") throw new Error("not yet");
  });
  if (child.exitCode !== null) throw new Error(`Prometheus ended: ${said}`);
  return {
    /** Series of an expression now. */
    async query(query: string): Promise<Sample[]> {
      const { status, error, data } = await ask("query", new URLSearchParams({ query }));
      if (status !== "success") throw new Error(`${error}: ${query}`);
      const { result, resultType } = data as { result: Sample[]; resultType: string };
      if (resultType !== "vector") throw new Error(`a ${resultType}: ${query}`);
      return result;
    },
    /** Traces at values of an expression, within the last minute. */
    async traces(query: string): Promise<string[]> {
      const now = Date.now() / 1000;
      const range = { query, start: String(now - 60), end: String(now + 60) };
      const { data } = await ask("query_exemplars", new URLSearchParams(range));
      const found = data as { exemplars: { labels: { trace_id: string } }[] }[];
      return found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id));
    },
    async rules(): Promise<RunRule[]> {
      const { groups } = (await ask("rules")).data as { groups: { rules: RunRule[] }[] };
      return groups.flatMap((group) => group.rules);
    },
  };
}
