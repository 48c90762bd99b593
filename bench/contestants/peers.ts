/** Other AI gateways, where they are installed: see README.md for how. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { found, gatewayCore, pinned } from "../cores.js";
import type { Contestant } from "./contestant.js";

const portkeyFolder = process.env.BENCH_PORTKEY ?? "";
const portkeyMain = join(portkeyFolder, "build/start-server.js");
const hasPortkey = portkeyFolder !== "" && existsSync(portkeyMain);

export const portkey: Contestant = {
  name: "portkey",
  about: hasPortkey
    ? `Portkey ${JSON.parse(readFileSync(join(portkeyFolder, "package.json"), "utf8")).version}`
    : "",
  missing: hasPortkey ? undefined : "BENCH_PORTKEY does not name @portkey-ai/gateway's folder",
  token: "any",
  headers: {},
  images: false,
  start(port, upstream) {
    Object.assign(this.headers, {
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `http://127.0.0.1:${upstream}/v1`,
    });
    return pinned(gatewayCore, "node", [portkeyMain, `--port=${port}`, "--headless"], {
      TRUSTED_CUSTOM_HOSTS: "127.0.0.1",
    });
  },
};

const litellmBinary = process.env.BENCH_LITELLM ?? found("litellm");

export const litellm: Contestant = {
  name: "litellm",
  about: litellmBinary ? `LiteLLM ${process.env.BENCH_LITELLM_VERSION ?? ""}, one worker` : "",
  missing: litellmBinary ? undefined : "BENCH_LITELLM does not name its command",
  // It refuses to start without a master key, or with a weak one.
  token: "sk-bench-4f1d2c7a90b3e586",
  headers: {},
  images: false,
  start(port, upstream, folder) {
    const file = join(folder, "litellm.yaml");
    const entry = (name: string) => ({
      model_name: name,
      litellm_params: {
        model: `openai/${name}`,
        api_base: `http://127.0.0.1:${upstream}/v1`,
        api_key: "any",
      },
    });
    writeFileSync(
      file,
      JSON.stringify({
        model_list: [entry("bench"), entry("apart"), entry("paced")],
        general_settings: { master_key: this.token },
      }),
    );
    const args = ["--config", file, "--port", String(port), "--host", "127.0.0.1"];
    return pinned(gatewayCore, litellmBinary ?? "litellm", [...args, "--num_workers", "1"], {
      LITELLM_LOG: "ERROR",
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
    });
  },
};

/** Gateways that can't be built here, with what is published of them. */
export const elsewhere: readonly string[] = [
  "GoModel (github.com/enterpilot/gomodel): Go's module proxy refused it (403) where this was run.",
  "Bifrost (github.com/maximhq/bifrost): Go's module proxy refused it (403), too.",
  "agentgateway: a binary in Rust that no registry has; published elsewhere: 168 CPU µs per request.",
];
