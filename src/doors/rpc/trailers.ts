/** The trailers of gRPC, for people. */

/**
 * The library escapes more of `grpc-message` than the protocol asks for, and
 * grpc-js shows what need not be escaped as it came.
 */
export function readable(trailers: Headers): Headers {
  const message = trailers.get("grpc-message");
  if (message === null) return trailers;
  // A blank at either end would not count as part of the value.
  const plain = message.replace(
    /(?!^%20|%20$)%(?!25)(?:[2-6][0-9A-F]|7[0-9A-E])/g,
    decodeURIComponent,
  );
  const changed = new Headers(trailers);
  changed.set("grpc-message", plain);
  return changed;
}
