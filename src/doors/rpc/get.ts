/** Connect's GET: a call of a method without side effects, whose message stands in the address. */
import { createAsyncIterable, type UniversalServerRequest } from "@connectrpc/connect/protocol";
import { invalidValue, type LintelError } from "../../core/errors.js";
import type { ByteRequest } from "./web-text.js";

/** What stands in an address. */
export interface Asked {
  /** The same as a POST, which all that follows knows. */
  readonly request: ByteRequest;
  /** What is wrong with the address; absent: nothing. */
  readonly defect?: LintelError;
}

/** Whether a request is one. */
export const isGet = ({ method }: { readonly method?: string | undefined }): boolean =>
  method === "GET";

/** Reads the address of a GET: https://connectrpc.com/docs/protocol#unary-get-request. Never throws. */
export function asPost(get: UniversalServerRequest): Asked {
  const { searchParams } = new URL(get.url);
  const header = new Headers(get.header);
  // What it has for a body is not looked at, and neither is what is said of it.
  for (const name of ["content-length", "content-encoding"]) header.delete(name);
  const encoding = searchParams.get("encoding") ?? "";
  // Of another one it is a type that nobody knows.
  header.set("content-type", `application/${/^[a-z]+$/.test(encoding) ? encoding : "unknown"}`);
  const packing = searchParams.get("compression");
  if (packing !== null && packing !== "identity") header.set("content-encoding", packing);
  const text = searchParams.get("message");
  const message = text === null ? undefined : bytesOf(text, searchParams.get("base64") === "1");
  const post = { ...get, method: "POST", header };
  if (message) return { request: { ...post, body: createAsyncIterable([message]) } };
  header.delete("content-encoding");
  const empty = Buffer.from(encoding === "json" ? "{}" : "");
  const why = text === null ? "is required" : "must be base64";
  return {
    request: { ...post, body: createAsyncIterable([empty]) },
    defect: invalidValue("message", why),
  };
}

/** The bytes of a message; `undefined`: they can't be read. In both alphabets, with or without what fills it up. */
function bytesOf(text: string, base64: boolean): Uint8Array | undefined {
  if (!base64) return Buffer.from(text);
  // A plus stands for a blank in an address.
  const plain = text.replaceAll(" ", "+");
  return /^[\w+/-]*={0,2}$/.test(plain) ? Buffer.from(plain, "base64") : undefined;
}
