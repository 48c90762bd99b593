/** What drivers share: how a request is posted, and what events and a failure say. */
import { ConnectError } from "@connectrpc/connect";
import { createParser } from "eventsource-parser";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import { type ErrorCode, errorTable } from "../../src/core/error-table.js";
import type { Failure } from "./cases.js";

/** The header that says who asks. @param token `null`: nobody */
export const authorization = (token: string | null = "all"): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` };

/** Posts JSON. */
export async function post(base: string, path: string, body: object, token?: string | null) {
  return fetch(base + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization(token) },
    body: JSON.stringify(body),
  });
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at as a client would, field by field
export type Json = any;

/** An error's two halves must say the same, and the status must be the table's. */
export function failureOf(json: Json, response?: Response): { error: Failure } {
  const { error, detail } = json;
  const code = error.code as ErrorCode;
  const listed = Array.isArray(detail);
  if (response) {
    if (response.status !== errorTable[code].http)
      throw new Error(`status ${response.status} for ${code}`);
    if (listed !== (response.status === 422)) throw new Error("detail is a list on 422 only");
    if (!response.headers.get("x-request-id")) throw new Error("no x-request-id");
    if (!listed && detail.msg !== error.message) throw new Error("two messages");
  }
  if (/\d+\.\d+\.\d+\.\d+|secret| at .*:\d+/.test(JSON.stringify(json)))
    throw new Error(`tells too much: ${JSON.stringify(json)}`);
  const fields = listed
    ? detail.map((d: Json) =>
        d.loc.slice(1).reduce((path: string, part: string | number) => {
          // A token's id, by which a map has it.
          if (/^-?\d+$/.test(`${part}`)) return `${path}[${JSON.stringify(part)}]`;
          return path ? `${path}.${part}` : part;
        }, ""),
      )
    : error.param
      ? [error.param]
      : undefined;
  const after = response?.headers.get("retry-after");
  return {
    error: { code, ...(fields && { fields }), ...(after && { retryAfter: Number(after) }) },
  };
}

/** Warnings as one, with the contract's names of fields. @param ours finds those by the client's */
export const warningOf = (warnings: readonly string[] = [], ours = (field: string) => field) =>
  warnings.map((text) => text.replace(/^[^\s:]+(?=: )/, ours)).join("; ") || undefined;

/** The objects of a stream of events. @param done whether it has to end with `[DONE]` */
export async function events(response: Response, done = true): Promise<Json[]> {
  const all: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => all.push(data) });
  parser.feed(await response.text());
  if (done && all.pop() !== "[DONE]") throw new Error("the stream does not end with [DONE]");
  return all.map((data) => JSON.parse(data));
}

/** What a Connect error says, in the table's terms. */
export function failureOfRpc(thrown: unknown): { error: Failure } {
  const error = ConnectError.from(thrown);
  const [info] = error.findDetails(ErrorInfoSchema);
  const [bad] = error.findDetails(BadRequestSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  if (!info) throw thrown;
  const code = info.reason.toLowerCase() as ErrorCode;
  if (error.code !== errorTable[code].grpc) throw new Error(`code ${error.code} for ${code}`);
  if (/\d+\.\d+\.\d+\.\d+|secret/.test(error.message))
    throw new Error(`tells too much: ${error.message}`);
  const fields =
    bad?.fieldViolations.map((v) => v.field) ??
    (info.metadata.param ? [info.metadata.param] : undefined);
  const after = retry?.retryDelay?.seconds;
  return {
    error: { code, ...(fields && { fields }), ...(after && { retryAfter: Number(after) }) },
  };
}
