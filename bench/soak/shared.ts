/** What several workers share, Redis and PostgreSQL, and the servers that only they are soaked with. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Bucket, startBucket } from "../../test/faults/bucket.js";
import { type Running, startGateway, startTarget } from "../../test/faults/processes.js";
import { noPostgres, type PostgresServer, startPostgres } from "../../test/support/postgres.js";
import { type RedisServer, redisBinary, startRedis } from "../../test/support/redis.js";
import type { Upstream } from "./outside.js";

/** All of it. */
export interface Shared {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  /** Of images. */
  readonly bucket: Bucket;
  /** Another gateway, which is asked as a node and by REST. */
  readonly far: Running;
  readonly comfyui: Running;
  readonly sdapi: Running;
  readonly upstreams: Readonly<Record<string, Upstream>>;
  close(): Promise<void>;
}

/**
 * Starts all of it.
 * @param home a folder; @param targets addresses of model servers, which the other gateway asks
 */
export async function startShared(home: string, targets: readonly string[]): Promise<Shared> {
  if (!redisBinary || noPostgres) throw new Error(noPostgres ?? "this needs redis-server");
  const program = "bench/soak/image-server.ts";
  const [redis, postgres, bucket, comfyui, sdapi] = await Promise.all([
    // A budget is to outlive it.
    startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] }),
    startPostgres(),
    startBucket(),
    startTarget(program, "comfyui"),
    startTarget(program, "sdapi"),
  ]);
  const far = await startGateway(configureFar(home, targets), [], "dist/src/main.js");
  return {
    redis,
    postgres,
    bucket,
    far,
    comfyui,
    sdapi,
    upstreams: {
      far: { url: far.url, running: () => activeAt(far.url) },
      comfyui: { url: comfyui.url, running: () => queuedAt(comfyui.url) },
      sdapi: { url: sdapi.url, running: () => runningAt(sdapi.url) },
      bucket: { url: bucket.url, running: async () => bucket.open.length },
    },
    async close() {
      await far.stop();
      for (const one of [comfyui, sdapi]) await one.kill();
      await redis.close();
      await postgres.remove();
      bucket.close();
    },
  };
}

function configureFar(home: string, targets: readonly string[]): string {
  const file = join(home, "far.yaml");
  const backends = targets.map(
    (url, i) =>
      `  - { type: openai, name: "${i}", url: "${url}", dialect: localai, models: [chat, image], image_models: [image] }`,
  );
  writeFileSync(
    file,
    `auth: { mode: none }
log: { level: error }
state: { directory: "${join(home, "far")}" }
telemetry: { prometheus: true, top: false }
routing: { health: { first_pause: 500ms, longest_pause: 2s, check: { interval: 1s } } }
timeouts: { total: 15s, first_token: 1500ms, between_tokens: 1500ms }
backends:
${backends.join("\n")}
`,
  );
  return file;
}

/** Of what tells it itself. */
export async function runningAt(url: string): Promise<number> {
  return ((await (await fetch(`${url}/running`)).json()) as { running: number }).running;
}

async function queuedAt(url: string): Promise<number> {
  const queue = (await (await fetch(`${url}/queue`)).json()) as Record<string, unknown[]>;
  return Object.values(queue).flat().length;
}

async function activeAt(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^lintel_requests_active(?:\{[^}]*\})? (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
}
