/** This gateway: bare, and with everything on that runs in production. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { configSchema } from "../../src/config/schema.js";
import { gatewayCore, nodeOptions, pinned } from "../cores.js";
import type { Contestant } from "./contestant.js";

const ownMain = process.env.LINTEL_MAIN ?? "dist/src/main.js";
const token = "bench-token";

interface Extra {
  readonly name: string;
  readonly about: string;
  readonly config: (folder: string) => object;
}

function lintel({ name, about, config }: Extra): Contestant {
  return {
    name,
    about,
    token,
    headers: {},
    images: true,
    start(
      port,
      upstream,
      folder,
      { main = ownMain, options = [], core = gatewayCore, config: more = {} } = {},
    ) {
      const file = join(folder, `${name}.yaml`);
      // JSON is YAML.
      writeFileSync(
        file,
        JSON.stringify({
          listen: `127.0.0.1:${port}`,
          backends: [
            {
              type: "openai",
              name: "upstream",
              url: `http://127.0.0.1:${upstream}`,
              models: ["bench", "hundred", "apart", "paced", "picture"],
              image_models: ["picture"],
              dialect: "vllm",
              connections: 2048,
            },
          ],
          routing: { max_in_flight: 4096 },
          media: { delivery: "data", directory: join(folder, `${name}-media`) },
          ...config(join(folder, name)),
          ...more,
        }),
      );
      const node = [...options, ...nodeOptions()];
      return pinned(core, "node", [...node, main, "serve", "--config", file]);
    },
  };
}

const many = 1_000_000_000;
const telemetry = "telemetry" in configSchema.shape || "metrics" in configSchema.shape;

export const lintelPlain = lintel({
  name: "lintel",
  about: "defaults, any token, its log on (a line for each call), no records of usage",
  config: () => ({ auth: { mode: "public" }, usage: { enabled: false } }),
});

export const lintelCache = lintel({
  name: "lintel-cache",
  about: "the same, with answers that are kept",
  config: () => ({ auth: { mode: "public" }, usage: { enabled: false }, cache: { ttl: "24h" } }),
});

export const lintelFull = lintel({
  name: "lintel-full",
  about: `tokens, four limits of the caller, records of usage in SQLite, log${
    telemetry ? ", metrics" : "; metrics are not in this build"
  }`,
  config: (directory) => ({
    auth: {
      mode: "token",
      tokens: [
        { name: "bench", hash: `sha256:${createHash("sha256").update(token).digest("hex")}` },
      ],
    },
    limits: {
      caller: {
        requests_per_minute: many,
        tokens_per_minute: many,
        concurrent: 1_000_000,
        budget: { amount: 1_000_000, period: "month" },
      },
    },
    prices: [{ model: "*", input: 1, output: 2 }],
    state: { directory },
    usage: { enabled: true },
  }),
});
