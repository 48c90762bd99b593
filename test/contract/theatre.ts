/** Gateways before scripted model servers, and the ways in which those fail. */
import type { Backend } from "../../src/core/backend.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { backendFor, chunk } from "../backends/openai-subject.js";
import { type Exchange, type Script, Upstream } from "../backends/upstream.js";
import { type Lintel, startLintel } from "../support/lintel.js";
import { routing, type Some } from "../support/routing.js";

/** What each model's servers do, in the order in which they are asked. */
export type Stage = Readonly<Record<string, readonly Script[]>>;

type OpenBackend = (url: string, name: string, model: string) => Backend;

/** A gateway with a model for each thing that can go wrong. */
export class Theatre {
  lintel!: Lintel;
  readonly #servers: Record<string, Upstream[]> = {};
  readonly #backends: Backend[] = [];

  /**
   * @param some what routing does otherwise than by default
   * @param open a backend for a model at an address
   */
  async open(
    stage: Stage,
    models: readonly ModelSettings[],
    some: Some = {},
    open: OpenBackend = (url, name, model) => backendFor(url, { name, models: [model] }),
  ): Promise<void> {
    for (const [model, scripts] of Object.entries(stage)) {
      const servers = await Promise.all(scripts.map((script) => Upstream.start(script)));
      this.#servers[model] = servers;
      for (const [i, { url }] of servers.entries()) {
        this.#backends.push(open(url, `${model} ${i}`, model));
      }
    }
    const retry = { firstPauseMs: 1, longestPauseMs: 1, floor: 1000 };
    const settings = {
      routing: routing({ retry, affinityHeaders: ["x-session"], ...some }),
      models,
    };
    this.lintel = await startLintel(this.#backends, { settings });
  }

  servers(model: string): Upstream[] {
    return this.#servers[model] ?? [];
  }

  /** How many requests each of a model's servers got. */
  asked(model: string): number[] {
    return this.servers(model).map(({ requests }) => requests.length);
  }

  async close(): Promise<void> {
    await this.lintel.close();
    for (const backend of this.#backends) await backend.close();
    for (const server of Object.values(this.#servers).flat()) await server.close();
  }
}

/** An error with this status. */
export const answers =
  (status: number, headers = {}): Script =>
  (exchange) =>
    exchange.sendJson(status, { error: { message: "scripted" } }, headers);

/** Begins an answer, then does something else. */
export const half = (then: Script): Script =>
  async function begin(exchange: Exchange) {
    if (exchange.json().stream) await exchange.stream(chunk({ content: "half" }));
    else {
      await exchange.head(200, { "content-type": "application/json" });
      await exchange.chunk('{"choices":[{"mess');
    }
    await then(exchange);
  };

/** Hangs until the gateway closes the connection, and tells when it did. */
export class Hanging {
  #tell = () => {};
  readonly left = new Promise<void>((resolve) => {
    this.#tell = resolve;
  });
  readonly script: Script = ({ gone }) => gone.then(this.#tell);
}

/** Breaks the connection. */
export const breaks: Script = (exchange) => exchange.destroy();
