/** Who calls? The first question, on every door. */
import type { Call, Caller, Middleware } from "./call.js";
import { ConfiguredTokens } from "./callers/configured.js";
import type { CallerSource } from "./callers/source.js";
import { LintelError } from "./errors.js";
import { deferred } from "./iterate.js";
import { fits } from "./pattern.js";
import type { AuthSettings } from "./settings.js";
import { anonymousName } from "./tokens.js";

/**
 * Sets `call.caller`, or throws `invalid_token`.
 * @param sources who knows tokens besides the configuration, for mode `token`; asked in order
 */
export function authenticate(
  settings: AuthSettings,
  sources: readonly CallerSource[] = [],
): Middleware {
  const identify = identifier(settings, sources);
  return (next) => (call) => {
    const caller = identify(call);
    if (!(caller instanceof Promise)) return next(withCaller(call, caller));
    return deferred(async () => next(withCaller(call, await caller)));
  };
}

function withCaller(call: Call, caller: Caller): Call {
  call.attributes.caller = caller.id;
  return { ...call, caller };
}

function identifier(
  settings: AuthSettings,
  sources: readonly CallerSource[],
): (call: Call) => Caller | Promise<Caller> {
  switch (settings.mode) {
    case "none":
      return () => ({ id: "anonymous" });
    case "public":
      return (call) => ({ id: anonymousName(presented(call)) });
    case "token": {
      const all = [new ConfiguredTokens(settings.tokens), ...sources];
      return (call) => identifyBy(all, presented(call));
    }
  }
}

/** Asks one source after the other; waits only for those that have to look further. */
function identifyBy(sources: readonly CallerSource[], token: string): Caller | Promise<Caller> {
  for (const [i, source] of sources.entries()) {
    const found = source.find(token);
    if (found instanceof Promise) {
      return found.then((caller) => caller ?? identifyBy(sources.slice(i + 1), token));
    }
    if (found) return found;
  }
  throw new LintelError("invalid_token", "the bearer token is not known");
}

function presented(call: Call): string {
  if (call.credential) return call.credential;
  throw new LintelError(
    "invalid_token",
    "a bearer token is required: send the header Authorization: Bearer <token>",
  );
}

/** Whether a caller may use a model. */
export function mayUse(caller: Caller | undefined, model: string): boolean {
  if (!caller?.models) return true;
  return caller.models.some((pattern) => fits(pattern, model));
}
