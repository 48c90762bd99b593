/** The kind `node`: another Lintel, or any server of the contract, over gRPC. */

import { isDeepStrictEqual } from "node:util";
import { type Model, State } from "../../../gen/lintel/v1/models_pb.js";
import { timeLimit, unlessAborted } from "../../core/abort.js";
import type { Backend } from "../../core/backend.js";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError, toLintelError } from "../../core/errors.js";
import { reasonOf } from "../../core/log.js";
import { fromConfiguration } from "../configured-model.js";
import { clientTlsOf } from "../http/client-tls.js";
import type { BackendContext, CreateBackend } from "../kind.js";
import { merge, unreachable } from "./models.js";
import { Peer } from "./peer.js";
import type { NodeConfig } from "./schema.js";

/** A backend of the kind `node`. @throws Error if a certificate or its key can't be used */
export const createNodeBackend: CreateBackend<NodeConfig> = (config, context) =>
  new NodeBackend(config, context);

/** Wait before it is asked again once it came or went, milliseconds; doubles up to `refresh`. Also while a model loads. */
const firstRetryMs = 500;

/** A backend on another process. */
export class NodeBackend implements Backend {
  readonly name: string;
  readonly handlers: Backend["handlers"];
  readonly #config: NodeConfig;
  readonly #context: BackendContext;
  readonly #peer: Peer;
  readonly #closing = new AbortController();
  #models: readonly Model[];
  #timer: NodeJS.Timeout | undefined;
  #retryMs = firstRetryMs;
  /** Whether it told of models, or has no list, when it was asked last, and no call was lost since. */
  #tells = false;
  #refreshing: Promise<void> | undefined;
  /** Why the node could not be asked for its models, the last time. */
  #failure: LintelError | undefined;
  /** What the log was told of that last, since the node told of models: once is enough. */
  #said: string | undefined;

  constructor(config: NodeConfig, context: BackendContext) {
    this.name = config.name;
    this.#config = config;
    this.#context = context;
    this.#models = (config.models ?? []).map((entry) => fromConfiguration(entry, State.READY));
    this.#peer = new Peer(
      {
        address: config.address,
        token: config.token,
        pingIntervalMs: config.ping,
        connectMs: config.timeouts.connect,
        checksSafety: (id) =>
          this.#models.some((m) => m.id === id && m.supports.includes("safety_check")),
        passUser: config.pass_user,
        tls: clientTlsOf(config, context.log),
      },
      () => this.#lost(),
    );
    this.handlers = this.#peer.handlers;
    this.refresh();
  }

  models(): readonly Model[] {
    return this.#models;
  }

  /** Waits for the first list; there a call waits for its model. */
  async ready(_model: string, signal: CallSignal): Promise<void> {
    if (this.#models.length > 0) return;
    await unlessAborted(this.#refreshing ?? Promise.resolve(), signal);
    if (this.#failure) throw this.#failure;
  }

  async health(signal: CallSignal): Promise<void> {
    try {
      await this.#peer.listModels(signal);
    } catch (thrown) {
      const error = toLintelError(thrown);
      if (error.code !== "unimplemented") throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new LintelError("shutting_down", "the connection is being closed"));
    clearTimeout(this.#timer);
    this.#peer.close();
    await this.#refreshing;
  }

  /** Asks the node for its models; one question at a time. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    let next: number;
    try {
      const { models } = await this.#peer.listModels(timeLimit(10_000));
      this.#failure = undefined;
      this.#said = undefined;
      this.#set(merge(this.#config.models, models));
      next = this.#wait(this.#models.length > 0);
      if (models.some(({ state }) => state === State.LOADING)) next = firstRetryMs;
    } catch (thrown) {
      if (this.#closing.signal.aborted) return;
      const error = toLintelError(thrown);
      this.#failure = error.code === "unimplemented" ? undefined : error;
      if (error.code === "unimplemented") {
        this.#set(merge(this.#config.models, []));
        this.#tells = true;
        next = this.#config.refresh;
      } else {
        this.#set(this.#models.map(unreachable));
        next = this.#wait(false);
      }
      this.#say(
        error.code === "unimplemented" && !this.#config.models
          ? "the node does not list its models: name them in the configuration"
          : "the node does not say which models it has",
        error,
      );
    }
    this.#plan(next);
  }

  #say(words: string, error: LintelError): void {
    const reason = reasonOf(error);
    const all = `${words}: ${reason}`;
    if (all === this.#said) return;
    this.#said = all;
    this.#context.log.warn({ backend: this.name, code: error.code, reason }, words);
  }

  /** A call found nobody: look soon, and prefer others meanwhile. */
  #lost(): void {
    this.#set(this.#models.map(unreachable));
    if (!this.#refreshing && this.#tells) this.#plan(this.#wait(false));
  }

  /**
   * Milliseconds until it is asked again: ever more. Also once it is back, for its own servers may
   * not have told it all yet: they begin together.
   */
  #wait(tells: boolean): number {
    if (tells !== this.#tells) this.#retryMs = firstRetryMs;
    this.#tells = tells;
    const ms = Math.min(this.#retryMs, this.#config.refresh);
    this.#retryMs = ms * 2;
    return ms;
  }

  #plan(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => this.refresh(), ms).unref();
  }

  #set(models: readonly Model[]): void {
    if (!isDeepStrictEqual(models, this.#models)) this.#models = models;
  }
}
