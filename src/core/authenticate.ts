/** Who calls? The first question, on every door. */
import type { Admission, Call, Caller, Middleware } from "./call.js";
import { inPlace } from "./callers/admit.js";
import { ConfiguredTokens } from "./callers/configured.js";
import { ownership } from "./callers/own.js";
import type { CallerSource } from "./callers/source.js";
import { LintelError, toLintelError } from "./errors.js";
import type { ClientOf } from "./gateway.js";
import { deferred } from "./iterate.js";
import { isConversation } from "./methods.js";
import { fits } from "./pattern.js";
import type { AuthSettings, Team } from "./settings.js";
import { anonymousName, hashToken } from "./tokens.js";

/**
 * Finds out who presents a credential. An answer that is at hand comes at once and not as a promise.
 * @throws LintelError `invalid_token`; `unavailable` if that can't be found out now
 */
export type Identify = (credential: string | undefined) => Caller | Promise<Caller>;

/** Sets `call.caller`, or throws what `identify` does. Who was admitted before is not looked up again. */
export function authenticate(identify: Identify): Middleware {
  return (next) => (call) => {
    const { admission } = call;
    if (admission instanceof LintelError) throw admission;
    if (admission) return next(withCaller(call, admission));
    const caller = identify(call.credential);
    const { client } = call.attributes;
    if (!(caller instanceof Promise)) return next(withCaller(call, inPlace(caller, client)));
    return deferred(async () => next(withCaller(call, inPlace(await caller, client))));
  };
}

/**
 * Asks ahead of a call. Never throws or rejects: an error is an answer.
 * @param clientOf where a request comes from, by its headers and what it came by; asked only where that counts
 */
export function admit<H, B>(
  identify: Identify,
  credential: string | undefined,
  clientOf: ClientOf<H, B>,
  headers: H,
  by: B,
): Admission | Promise<Admission> {
  try {
    const caller = identify(credential);
    if (!(caller instanceof Promise)) {
      return caller.from ? inPlace(caller, clientOf(headers, by)) : caller;
    }
    return caller
      .then((found) => (found.from ? inPlace(found, clientOf(headers, by)) : found))
      .catch(toLintelError);
  } catch (thrown) {
    return toLintelError(thrown);
  }
}

function withCaller(call: Call, caller: Caller): Call {
  call.attributes.caller = caller.id;
  call.attributes.team = caller.team;
  call.attributes.client = undefined;
  return { ...call, caller };
}

/**
 * How callers are identified.
 * @param sources who knows tokens besides the configuration, for mode `token`; asked in order
 * @param administrators hashes of tokens that open no calls
 */
export function identifier(
  settings: AuthSettings,
  sources: readonly CallerSource[] = [],
  administrators: readonly string[] = [],
): Identify {
  const identify = identifierBy(settings, sources);
  if (administrators.length === 0) return identify;
  const refused = new Set(administrators);
  return (credential) => {
    // Ahead of all: also where any token would do, and while nobody can be asked.
    if (credential && refused.has(hashToken(credential))) {
      throw new LintelError(
        "invalid_token",
        "the bearer token is an administrator's: it opens no calls",
      );
    }
    return identify(credential);
  };
}

function identifierBy(settings: AuthSettings, sources: readonly CallerSource[]): Identify {
  switch (settings.mode) {
    case "none":
      return () => ({ id: "anonymous" });
    case "public":
      return (credential) => ({ id: anonymousName(presented(credential)) });
    case "token": {
      const all = [new ConfiguredTokens(settings.tokens), ...sources];
      const enrolled = enrolment(settings.teams);
      const owned = ownership(sources);
      const found = (caller: Caller) => enrolled(owned(caller));
      return (credential) => {
        const caller = identifyBy(all, presented(credential));
        return caller instanceof Promise ? caller.then(found) : found(caller);
      };
    }
  }
}

/** Finds what a caller's team may use. */
function enrolment(teams: readonly Team[] = []): (caller: Caller) => Caller {
  const known = new Map(teams.flatMap(({ name, models }) => (models ? [[name, models]] : [])));
  // Sources remember callers, so that each is looked up once.
  const enrolled = new WeakMap<Caller, Caller>();
  return (caller) => {
    const teamModels = caller.team === undefined ? undefined : known.get(caller.team);
    if (!teamModels) return caller;
    const before = enrolled.get(caller);
    if (before) return before;
    const member = { ...caller, teamModels };
    enrolled.set(caller, member);
    return member;
  };
}

/** Asks one source after the other; waits only for those that have to look further. */
function identifyBy(sources: readonly CallerSource[], token: string): Caller | Promise<Caller> {
  for (let i = 0; i < sources.length; i++) {
    const found = sources[i]?.find(token);
    if (found instanceof Promise) {
      return found.then((caller) => caller ?? identifyBy(sources.slice(i + 1), token));
    }
    if (found) return found;
  }
  throw new LintelError("invalid_token", "the bearer token is not known");
}

function presented(credential: string | undefined): string {
  if (credential) return credential;
  throw new LintelError(
    "invalid_token",
    "a bearer token is required: send the header Authorization: Bearer <token>",
  );
}

/** A model, and how it was looked up. */
export interface Sought {
  /** The name under which its calls count. */
  readonly name: string;
  /** The name by which it was asked for. */
  readonly asked: string;
  /** The operator's alias with a `*` that this fits, absent: it is one that the operator wrote or a backend has. */
  readonly alias?: string | undefined;
}

/**
 * Whether its caller may use the model of a call, which has been looked up.
 * @throws LintelError `model_not_allowed`
 */
export function checkModel({ method, caller, attributes }: Call): void {
  const { model: name = "", asked = name, alias } = attributes;
  const sought = { name, asked, alias };
  if (mayUse(caller, sought)) return;
  // Who asks for more is told whom to ask.
  const whose = isAmong(caller?.models, sought) ? "this token's team" : "this token";
  throw new LintelError(
    "model_not_allowed",
    `${whose} may not use the model ${JSON.stringify(name)}`,
    { param: isConversation(method) ? "model" : "model_id" },
  );
}

/** Whether a caller, and its team, may use a model. */
export function mayUse(caller: Caller | undefined, sought: Sought): boolean {
  return isAmong(caller?.models, sought) && isAmong(caller?.teamModels, sought);
}

/**
 * Whether a model is among some, by its name or by that by which it was asked for. A pattern that has nothing to
 * do with the alias fits the name by accident: callers choose what stands for the `*`.
 */
function isAmong(
  models: readonly string[] | undefined,
  { name, asked, alias = asked }: Sought,
): boolean {
  if (!models) return true;
  return models.some(
    (pattern) =>
      fits(pattern, name) ||
      (fits(pattern, asked) && (fits(pattern, alias) || fits(alias, pattern))),
  );
}
