/** What became of a request whose connection failed. */
import { aboutField, LintelError } from "../../core/errors.js";
import { brokenOff } from "./failure.js";
import { ProxyError } from "./proxy-error.js";

/** The error for a connection that did not come about in time. */
export const notConnected = (cause?: unknown): LintelError =>
  new LintelError("timeout", "the model server did not take the connection", { cause });

/** What this machine or process is short of: no fault of whoever was to be reached. */
const ownLack: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** Whether a connection could not be made for want of something that this machine or process is short of. */
export const isOwnLack = (error: (Error & { code?: string }) | undefined): error is Error =>
  ownLack.has(error?.code ?? "");

/** Whether TLS failed: a server may refuse a client once that has sent its request. */
const isOfTls = ({ code }: { readonly code?: unknown }): boolean =>
  // What signals of the platform abort with has a number.
  typeof code === "string" && code.startsWith("ERR_SSL_");

/**
 * The error for what undici reports.
 * @param sent whether a connection was there and the request on its way
 * @param began whether bytes of an answer came
 */
export function transportError(
  error: Error & { code?: string },
  sent: boolean,
  began: boolean,
): LintelError {
  if (error instanceof LintelError) return error;
  const options = { cause: error };
  if (error.code === "UND_ERR_CONNECT_TIMEOUT") {
    return notConnected(error);
  }
  if (!sent || error instanceof ProxyError || (!began && isOfTls(error))) {
    if (isOwnLack(error)) {
      return new LintelError("overloaded", "the gateway can open no more connections", options);
    }
    return new LintelError("upstream_unreachable", "the model server can't be reached", options);
  }
  if (began) return brokenOff(error);
  // As a rule a kept connection that the server was just closing: it did not see the request.
  return new LintelError("upstream_failed", "the model server closed the connection", {
    ...options,
    retry: "anywhere",
  });
}

/**
 * An error in whose words the server is called what it is: those of transports know model servers alone.
 * @param what for example `moderation server`
 */
export function namedAs(what: string, error: LintelError): LintelError {
  const { message, param } = error;
  const words = message.replace("the model server", `the ${what}`);
  return words === message ? error : aboutField(error, param, words);
}
