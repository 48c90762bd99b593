/** Another gateway, as a client of its REST operations sees it. */
import type { Call } from "../../core/call.js";
import type { JsonObject } from "../../core/json.js";
import type { BackendMethod } from "../../core/methods.js";
import { sessionHeaders } from "../cache-key.js";
import { callHeaders } from "../call-headers.js";
import { timeLeft } from "../deadline.js";
import type { Answer } from "../http/answer.js";
import type { FetchImageOptions } from "../http/fetch-image.js";
import { jsonBody } from "../http/json-body.js";
import { readRefused, refuses } from "../http/refused.js";
import type { Transport } from "../http/transport.js";
import { failureOf } from "./failure.js";

/** What a call needs. */
export interface Gateway {
  readonly transport: Transport;
  /** Path of an operation, for example `at("/llm")`. */
  at(path: string): string;
  readonly fetching: FetchImageOptions;
  /** Whether the gateway checks a model's images itself; if not, it is not asked to. */
  checksSafety(model: string): boolean;
  /** What it is told of a user; `undefined`: nothing. */
  userOf(user: string): string | undefined;
}

/**
 * Sends a request, with the call's id and deadline.
 * @throws LintelError as the gateway reports it
 */
export async function ask(
  { transport, at }: Gateway,
  path: string,
  call: Call<BackendMethod>,
  body: object,
): Promise<Answer> {
  const { id, signal, connectMs } = call;
  const left = timeLeft(call);
  const headers = {
    "x-request-id": id,
    ...sessionHeaders(call),
    ...callHeaders(call),
    ...(left !== undefined && { "x-request-timeout-ms": String(Math.ceil(left)) }),
  };
  const request = { method: "POST", path: at(path), body: jsonBody(body), headers } as const;
  const answer = await transport.send({ ...request, signal, connect: connectMs });
  if (!refuses(answer)) return answer;
  const refused = await readRefused(answer, call, failureOf);
  throw refused.failure();
}

/** Hands on what the gateway warns of. */
export function handOnWarnings({ warnings }: Call<BackendMethod>, { warnings: said }: JsonObject) {
  if (!Array.isArray(said)) return;
  for (const text of said) if (typeof text === "string" && text !== "") warnings.add(text);
}
