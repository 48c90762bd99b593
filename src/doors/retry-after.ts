/** What the header `Retry-After` says of an error. */
import type { LintelError } from "../core/errors.js";

/** Whole seconds, or nothing where the error has none. */
export const retryAfterHeader = ({ retryAfter }: LintelError): { "retry-after"?: string } =>
  retryAfter === undefined ? {} : { "retry-after": `${Math.ceil(retryAfter)}` };
