/**
 * Administration of a gateway over the network: who may, and the life of a call. Such a call goes through
 * none of the steps of the contract's calls: it has no limits, no usage and no model.
 */

import { unlessAborted } from "../abort.js";
import type { Admission } from "../call.js";
import { inPlace } from "../callers/admit.js";
import { ConfiguredTokens } from "../callers/configured.js";
import { type CallSignal, Cancellation } from "../cancellation.js";
import type { ErrorCode } from "../error-table.js";
import {
  callerLeft,
  invalidFields,
  LintelError,
  shuttingDown,
  toLintelError,
  type Violation,
} from "../errors.js";
import type { Origin, Readiness } from "../gateway.js";
import { joined } from "../joined.js";
import type { Logger } from "../log.js";
import { causeOf, levelOf } from "../log-call.js";
import { type Check, compileRules } from "../rules.js";
import { holdsToken } from "../tokens.js";
import { handlers } from "./handlers.js";
import { type AdminInput, type AdminMethod, type AdminOutput, adminMethods } from "./methods.js";
import type { AdminSettings } from "./settings.js";
import type { AdminState } from "./state.js";
import type { Work } from "./work.js";

/** Administration, as doors see it. */
export interface Administration {
  /**
   * Finds out who presents a credential, before anything is read for them. Never throws.
   * @param client the address that the request came from; asked only where that counts
   */
  admit(credential: string | undefined, client: () => string | undefined): Admission;
  /**
   * Runs a call, and logs how it ended.
   * @throws LintelError
   */
  call<M extends AdminMethod>(
    method: M,
    request: AdminInput<M>,
    origin: Origin,
  ): Promise<AdminOutput<M>>;
}

/** What administration is made of. */
export interface AdministrationParts {
  readonly settings: AdminSettings;
  /** Absent: there is no database here. */
  readonly state: AdminState | undefined;
  /** How the gateway stands. */
  readonly status: Work["status"];
  readonly readiness: Readiness;
  readonly log: Logger;
}

/** Calls of one method that ended in the same way. */
export interface AdminCalls {
  readonly method: AdminMethod;
  readonly code: "ok" | ErrorCode;
  /** Since the start. */
  readonly calls: number;
}

/** What a call was about, for the log. */
interface About {
  id?: string;
  name?: string;
}

/** The one of a gateway; its settings change with a reload. */
export class GatewayAdministration implements Administration {
  readonly #parts: AdministrationParts;
  readonly #checks: Readonly<Record<AdminMethod, Check>>;
  #settings: AdminSettings;
  #administrators: ConfiguredTokens;
  readonly #ended = new Map<string, AdminCalls>();

  constructor(parts: AdministrationParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#administrators = new ConfiguredTokens(parts.settings.tokens);
    this.#checks = Object.fromEntries(
      Object.entries(adminMethods).map(([name, { input }]) => [name, compileRules(input, {})]),
    ) as Record<AdminMethod, Check>;
  }

  /** Goes by other settings from now on. */
  change(settings: AdminSettings): void {
    this.#settings = settings;
    this.#administrators = new ConfiguredTokens(settings.tokens);
  }

  /** How calls ended. */
  calls(): AdminCalls[] {
    return [...this.#ended.values()];
  }

  admit(credential: string | undefined, client: () => string | undefined): Admission {
    if (!credential) return new LintelError("invalid_token", noCredential);
    try {
      const found = this.#administrators.find(credential);
      if (!found) return new LintelError("invalid_token", notAnAdministrator);
      return found.from ? inPlace(found, client()) : found;
    } catch (thrown) {
      return toLintelError(thrown);
    }
  }

  async call<M extends AdminMethod>(
    method: M,
    request: AdminInput<M>,
    origin: Origin,
  ): Promise<AdminOutput<M>> {
    const began = performance.now();
    const admission = origin.admission ?? this.admit(origin.credential, () => origin.client);
    const about: About = {};
    const work = this.#work(method, request, origin, admission, about);
    const { ended, end } = patience(origin, this.#settings.timeoutMs);
    const answer = unlessAborted(work, ended);
    const log = (error: LintelError | undefined) => {
      const late = ended.aborted ? toLintelError(ended.reason).code : undefined;
      this.#log({ method, origin, admission, about, began, error, late });
    };
    // Not with the answer: who left has changed a token all the same, and the log has to tell.
    void work.then(
      () => log(undefined),
      (thrown) => log(toLintelError(thrown)),
    );
    try {
      return await answer;
    } catch (thrown) {
      throw toLintelError(thrown);
    } finally {
      end();
    }
  }

  async #work<M extends AdminMethod>(
    method: M,
    request: AdminInput<M>,
    { defect }: Origin,
    admission: Admission,
    about: About,
  ): Promise<AdminOutput<M>> {
    if (admission instanceof LintelError) throw admission;
    const { state, status, readiness } = this.#parts;
    if (!readiness.accepting) throw shuttingDown();
    const undecoded = defect?.violations ?? [];
    // Of what could not be read there is nothing to check.
    if (defect && undecoded.length === 0) throw defect;
    const found: Violation[] = [];
    this.#checks[method](request, "", found);
    if (method !== "queryUsage" && method !== "getStatus") noteAsked(request, about);
    if (undecoded.length > 0) {
      throw invalidFields(joined(adminMethods[method].input, undecoded, found));
    }
    if (!state && method !== "getStatus" && found.length === 0)
      throw new LintelError("unavailable", noDatabase);
    const work: Work = {
      state: state as NonNullable<typeof state>,
      status,
      settings: this.#settings,
      found,
      about({ id, name }) {
        about.id = id;
        about.name = name;
      },
    };
    return handlers[method](request, work);
  }

  #log({ method, origin, admission, about, began, error, late }: Ended): void {
    const known = admission instanceof LintelError ? undefined : admission.id;
    const code = error?.code ?? "ok";
    const key = `${method} ${code}`;
    this.#ended.set(key, { method, code, calls: (this.#ended.get(key)?.calls ?? 0) + 1 });
    // Who looks does so every second.
    if (method === "getStatus" && !error) return;
    const fields = {
      id: origin.requestId,
      method,
      door: origin.door,
      client: origin.client,
      admin: known,
      token: about.name,
      tokenId: about.id,
      code,
      // The token was changed, and nobody heard of it.
      unheard: late,
      totalMs: Math.round(performance.now() - began),
      error: error?.message,
      cause: causeOf(error),
    };
    this.#parts.log[levelOf(error)](fields, "admin call");
  }
}

interface Ended {
  readonly method: AdminMethod;
  readonly origin: Origin;
  readonly admission: Admission;
  readonly about: About;
  readonly began: number;
  readonly error: LintelError | undefined;
  readonly late: string | undefined;
}

const noCredential =
  "a bearer token of an administrator is required: send the header Authorization: Bearer <token>";
const notAnAdministrator =
  "the bearer token is no administrator's: administration takes those of admin.tokens, and no caller's";
const noDatabase = "this gateway has no database of tokens and usage; its log says why";

/** Which token was asked about, as long as nothing more is known of it; not a token that somebody took for its name. */
function noteAsked(request: object, about: About): void {
  const { name, token } = request as { name?: unknown; token?: unknown };
  const asked = name ?? token;
  if (typeof asked !== "string" || asked === "" || holdsToken(asked)) return;
  about.name = asked.slice(0, 128);
}

/** Until when a caller waits for an answer. @returns with what lets go of the timer */
function patience(
  { signal, timeoutMs }: Pick<Origin, "signal" | "timeoutMs">,
  mostMs: number,
): { readonly ended: CallSignal; readonly end: () => void } {
  const ended = new Cancellation();
  const leave = () => ended.abort(callerLeft());
  const late = () => ended.abort(new LintelError("timeout", "the deadline passed"));
  const timer = setTimeout(late, Math.min(timeoutMs ?? mostMs, mostMs));
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  return {
    ended,
    end() {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    },
  };
}
