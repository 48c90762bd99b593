/** The moderation endpoint of an OpenAI-compatible API. */
import type { CallSignal } from "../core/cancellation.js";
import { LintelError } from "../core/errors.js";
import { isObject } from "../core/json.js";
import { bearer, CheckingServer } from "./checking-server.js";

/** Where it is, and how it is asked. */
export interface ModerationSettings {
  /** With its path; `/v1` is added to one without. */
  readonly url: string;
  readonly api_key?: string | undefined;
  readonly model: string;
  /** Milliseconds. */
  readonly timeout: number;
}

/** What it says of one thing. */
export interface ModerationResult {
  readonly flagged: boolean;
  /** For what; empty where it does not tell. */
  readonly categories: readonly string[];
}

/** Asks `POST {url}/moderations`. */
export class Moderations {
  readonly #model: string;
  readonly #path: string;
  readonly #server: CheckingServer;

  constructor({ url: address, api_key, model, timeout }: ModerationSettings) {
    const url = new URL(address);
    this.#model = model;
    this.#path = `${url.pathname.replace(/\/+$/, "") || "/v1"}/moderations`;
    this.#server = new CheckingServer({
      origin: url.origin,
      headers: bearer(api_key),
      timeout,
      what: "moderation server",
    });
  }

  /**
   * @param input as the endpoint takes it
   * @returns at least one
   * @throws LintelError `upstream_failed` where it answers without a verdict, and as `CheckingServer`
   */
  async ask(input: readonly unknown[], signal: CallSignal): Promise<ModerationResult[]> {
    const answer = await this.#server.ask(this.#path, { model: this.#model, input }, signal);
    const results = isObject(answer) && Array.isArray(answer.results) ? answer.results : [];
    if (results.length === 0) throw noVerdict();
    return results.map(resultOf);
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

function resultOf(result: unknown): ModerationResult {
  if (!isObject(result) || typeof result.flagged !== "boolean") throw noVerdict();
  const { flagged, categories } = result;
  const named = isObject(categories) ? Object.entries(categories) : [];
  return { flagged, categories: named.flatMap(([name, is]) => (is === true ? [name] : [])) };
}

/** An image as the endpoint takes it. @param url `data:`, or an address that it reads itself */
export const imageInput = (url: string) => ({ type: "image_url", image_url: { url } });

/** The error for an answer that does not say enough. */
export const noVerdict = () =>
  new LintelError("upstream_failed", "the moderation server answered without a verdict");
