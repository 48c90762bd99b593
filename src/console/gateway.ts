/** Calls to the gateway that the page came from. */
import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Account, ErrorBody, Model } from "./wire.js";

/** A call that failed, in the gateway's own words. */
export class Failure extends Error {
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** Code of the table of errors; empty where the answer has none. */
  readonly code: string;

  constructor(message: string, status: number, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A gateway, for who holds a token. */
export interface Gateway {
  /**
   * Calls a path, relative to the page's own.
   * @param body absent: GET
   * @throws Failure for every status but 2xx, or without an answer
   */
  call(path: string, body?: object, signal?: AbortSignal): Promise<Response>;
}

/**
 * @param bearer the token of the moment
 * @param onRefused hears that the token opens nothing, and why
 */
export function gatewayFor(
  bearer: () => string | Promise<string>,
  onRefused: (words: string) => void,
): Gateway {
  return {
    async call(path, body, signal) {
      try {
        return await succeeded(await answerOf(path, await bearer(), body, signal));
      } catch (error) {
        if (error instanceof Failure && error.status === 401) onRefused(error.message);
        throw error;
      }
    },
  };
}

/**
 * Posts without a token. @returns the JSON of the answer
 * @throws Failure as `Gateway.call`
 */
export const postFreely = async <T>(path: string, body: object): Promise<T> =>
  (await succeeded(await answerOf(path, undefined, body, undefined))).json();

async function succeeded(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw failureOf(response.status, await bodyOf(response));
}

async function answerOf(
  path: string,
  token: string | undefined,
  body: object | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const authorized: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  try {
    return await fetch(path, {
      method: body ? "POST" : "GET",
      headers: body ? { ...authorized, "content-type": "application/json" } : authorized,
      body: body ? JSON.stringify(body) : null,
      signal: signal ?? null,
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure("the gateway does not answer", 0);
  }
}

const bodyOf = (response: Response): Promise<unknown> => response.json().catch(() => undefined);

/** REST's form of an error, or Connect's. */
function failureOf(status: number, body: unknown): Failure {
  const { error, message, code } = (body ?? {}) as ErrorBody & {
    readonly message?: string;
    readonly code?: string;
  };
  const said = error?.message ?? message;
  return new Failure(said ?? `the answer was a ${status}`, status, error?.code ?? code);
}

/** The failure that an event of a stream tells of. */
export const failureIn = ({ error }: ErrorBody): Failure =>
  new Failure(error?.message ?? "the stream failed", 200, error?.code);

/**
 * The JSON of a stream's events, up to `[DONE]`.
 * @throws Failure where it ends without, or is cut off
 */
export async function* eventsOf<T>(response: Response): AsyncGenerator<T, void> {
  if (!response.body) throw new Failure("the answer has no body", response.status);
  const reader = response.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  // Of a connection that is lost each browser says something else.
  const brokeOff = () => new Failure("the stream broke off", response.status);
  for (;;) {
    const { done, value } = await reader.read().catch(() => Promise.reject(brokeOff()));
    if (done) throw brokeOff();
    if (value.data === "[DONE]") return;
    yield JSON.parse(value.data) as T;
  }
}

/** All models that the token may use. */
export async function modelsOf(gateway: Gateway): Promise<readonly Model[]> {
  const response = await gateway.call("lintel.v1.ModelsService/ListModels", {});
  return ((await response.json()) as { models: readonly Model[] }).models;
}

/** Whom the token names, and what is left of the limits. */
export const accountOf = async (gateway: Gateway): Promise<Account> =>
  (await gateway.call("account")).json();

/** What to tell somebody of an error. */
export const wordsOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
