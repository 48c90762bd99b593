/** A configuration with nearly everything on, of which each reload gets another form. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";

/** Where things are. */
export interface Places {
  readonly file: string;
  readonly state: string;
  /** Model servers: two targets, one mirror. */
  readonly a: string;
  readonly b: string;
  readonly mirror: string;
  /** Of Prometheus: host:port. */
  readonly metrics: string;
  /** A file of SQLite, or the URL of PostgreSQL. */
  readonly database: string;
  /** Of several workers. */
  readonly shared?: SharedPlaces | undefined;
}

/** What several workers have besides. */
export interface SharedPlaces {
  readonly workers: number;
  readonly redis: string;
  /** Of images. */
  readonly bucket: string;
  /** Another gateway. */
  readonly far: string;
  readonly comfyui: string;
  readonly sdapi: string;
}

/** Tokens that never change. */
export const tokens = { steady: "steady-token", poor: "poor-token", ops: "ops-token" };

/** What `/account` counts down from. */
export const lifetime = 1_000_000;

const hash = (token: string) => `sha256:${createHash("sha256").update(token).digest("hex")}`;

/**
 * Writes it.
 * @param form counts up with each reload: what differs follows from it
 */
export function configure(places: Places, form: number): void {
  const { a, b, mirror, shared } = places;
  writeFileSync(
    places.file,
    `${shared ? `workers: ${shared.workers}\n` : ""}auth:
  mode: token
  tokens:
    - { name: steady, hash: "${hash(tokens.steady)}", team: crew }
    - { name: poor, hash: "${hash(tokens.poor)}", limits: { requests_per_minute: 30, concurrent: 1 } }
    - { name: "passing-${form}", hash: "${hash(`passing-${form}`)}" }
  teams: [{ name: crew, limits: { budget: { amount: 100000, period: hour } } }]
admin: { tokens: [{ name: ops, hash: "${hash(tokens.ops)}" }] }
max_connection_age: 20s
state: { directory: "${places.state}", refresh: 1s${shared ? `, database: "${places.database}", redis: { url: "${shared.redis}" }` : ""} }
usage: { retention: 2h }
limits:
  caller: { requests_per_minute: 100000, tokens_per_minute: 100000000, images_per_day: 1000000, concurrent: ${200 + (form % 3)}, budget: { amount: 100000, period: hour } }
  user: { requests_per_minute: 20, concurrent: 4 }
  team: { requests_per_minute: 100000 }
  models: [{ model: chat, concurrent: 300 }, { model: "any-*", requests_per_minute: 50000 }]
  global: { concurrent: 500, budget: { amount: ${lifetime}, period: lifetime } }
prices: [{ model: "*", input: 1000, output: 2000, image: 1 }]
budget_alerts: { url: "${mirror}/alerts", at: [0.000001, 0.9], timeout: 1s }
routing:
  affinity: conversation
  max_in_flight: 16
  queue: { size: 8, timeout: 1s }
  hedge: { percentile: ${80 + (form % 10)}, at_least: 10ms }
  health: { first_pause: 500ms, longest_pause: 2s, check: { interval: 1s } }
timeouts: { total: 15s, first_token: 1500ms, between_tokens: 1500ms, first_message: 500ms }
cache: { ttl: 20s, max_bytes: 512KiB }
idempotency: { ttl: 5m, linger: 1s, max_bytes: 4MiB }
media: { ttl: 20s, max_bytes: 256KiB${shared ? `, store: s3, s3: { bucket: pictures, endpoint: "${shared.bucket}", access_key_id: a, secret_access_key: b, address: gateway }` : ""} }
guards:
  - { name: addresses, type: pattern, find: [email], action: ${form % 2 ? "mask" : "flag"}, look_at: [prompts, answers] }
  - { name: house, type: webhook, url: "${mirror}/check", look_at: [prompts], models: [watched], on_failure: open, timeout: 1s }
telemetry:
  prometheus: { listen: "${places.metrics}" }
  otlp: { endpoint: "${mirror}", interval: 2s, sample_ratio: 0.2 }
default_models: { chat: chat }
models:
  - name: chat
    aliases: [talk]
    targets: [{ backend: a, model: chat, requests_per_minute: 100000 }, { backend: b, model: chat, weight: ${1 + (form % 2)} }]
    mirrors: [{ backend: mirror, model: chat, share: 0.3, max_in_flight: 4 }]
    cache_ttl: 0s
  - { name: kept, targets: [{ backend: a, model: chat }, { backend: b, model: chat, priority: 1 }], cache_ttl: 20s }
  - { name: watched, targets: [{ backend: a, model: chat }, { backend: b, model: chat }], cache_ttl: 0s }
  - { name: image, targets: [{ backend: a, model: image }, { backend: b, model: image }] }
  - { name: "any-*", targets: [{ backend: a, model: chat }, { backend: b, model: chat }], cache_ttl: 0s }
  - { name: "extra-${form}", targets: [{ backend: b, model: chat }] }
${shared ? furtherModels : ""}backends:
  - { type: openai, name: a, url: "${a}", dialect: localai, models: [chat, image], image_models: [image], connections: ${40 + (form % 2)} }
  - { type: openai, name: b, url: "${b}", dialect: localai, image_models: [image], refresh: 1s, pass_user: hashed }
  - { type: openai, name: mirror, url: "${mirror}", models: [chat] }
${shared ? furtherBackends(shared) : ""}`,
  );
}

/** As the scripted servers call it. */
const checkpoint = "v1-5-pruned-emaonly";

const furtherModels = `  - { name: on-node, targets: [{ backend: node, model: chat }, { backend: b, model: chat, priority: 1 }] }
  - { name: on-rest, targets: [{ backend: rest, model: chat }, { backend: b, model: chat, priority: 1 }] }
  - { name: far, targets: [{ backend: node, model: chat }, { backend: rest, model: chat }] }
  - { name: comfyui, targets: [{ backend: comfyui, model: ${checkpoint} }] }
  - { name: sdapi, targets: [{ backend: sdapi, model: ${checkpoint} }] }
  - { name: far-image, targets: [{ backend: rest, model: image }, { backend: node, model: image }] }
  - { name: drawn, targets: [{ backend: comfyui, model: ${checkpoint} }, { backend: sdapi, model: ${checkpoint} }, { backend: rest, model: image }, { backend: a, model: image }] }
`;

const furtherBackends = ({
  far,
  comfyui,
  sdapi,
}: SharedPlaces) => `  - { type: node, name: node, address: "${far}", token: any, refresh: 1s, ping: 1s }
  - { type: rest, name: rest, url: "${far}", models: [{ id: chat, task: chat }, { id: image, task: image }] }
  - { type: comfyui, name: comfyui, url: "${comfyui}", poll: 100ms, refresh: 1s }
  - { type: sdapi, name: sdapi, url: "${sdapi}", poll: 20ms, refresh: 1s }
`;
