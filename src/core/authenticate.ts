/** Who calls? The first question, on every door. */
import type { Call, Caller, Middleware } from "./call.js";
import { LintelError } from "./errors.js";
import { fits } from "./pattern.js";
import type { AuthSettings } from "./settings.js";
import { anonymousName, TokenTable } from "./tokens.js";

/** Sets `call.caller`, or throws `invalid_token`. */
export function authenticate(settings: AuthSettings): Middleware {
  const identify = identifier(settings);
  return (next) => (call) => {
    const caller = identify(call);
    call.attributes.caller = caller.id;
    return next({ ...call, caller });
  };
}

function identifier(settings: AuthSettings): (call: Call) => Caller {
  switch (settings.mode) {
    case "none":
      return () => ({ id: "anonymous" });
    case "public":
      return (call) => ({ id: anonymousName(presented(call)) });
    case "token": {
      const table = new TokenTable(settings.tokens);
      return (call) => {
        const token = table.find(presented(call));
        if (!token) throw new LintelError("invalid_token", "the bearer token is not known");
        return token.models ? { id: token.name, models: token.models } : { id: token.name };
      };
    }
  }
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
