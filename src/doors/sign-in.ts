/** How people sign in to the console: what its page asks of its gateway, which asks the issuer. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { invalidFields, LintelError, toLintelError, type Violation } from "../core/errors.js";
import type { JsonObject } from "../core/json.js";
import { reasonOf } from "../core/log.js";
import { levelOf } from "../core/log-call.js";
import { Recent } from "../core/recent.js";
import type { Door } from "./door.js";
import { parseBody } from "./json/body.js";
import { fromFastify, sendError } from "./json/error.js";
import { clientOfRequest } from "./origin.js";

/** The ways to sign in, as the page uses them; errors are LintelErrors. */
export interface SignIns {
  /** What their buttons say. */
  readonly names: readonly string[];
  /** @param page address of the page */
  begin(name: string, page: string): Promise<object>;
  finish(
    name: string,
    returned: {
      readonly code: string;
      readonly verifier: string;
      readonly nonce: string;
      readonly page: string;
      readonly iss?: string | undefined;
    },
  ): Promise<object>;
  /** @throws always: why the issuer signs somebody not in, if it is the issuer's answer */
  refuse(
    name: string,
    told: {
      readonly error: string;
      readonly description?: string | undefined;
      readonly iss?: string | undefined;
    },
  ): Promise<never>;
  /** @param idToken the one that came before */
  renew(name: string, refreshToken: string, idToken: string): Promise<object>;
  /** @returns where the issuer wants to see who leaves, and what could not be done there */
  end(
    name: string,
    leaving: {
      readonly page: string;
      readonly refreshToken?: string | undefined;
      readonly idToken?: string | undefined;
    },
  ): Promise<{
    readonly url?: string | undefined;
    readonly failures: readonly LintelError[];
  }>;
}

/** Most bytes of a body: tokens are in it. */
const bodyLimit = 64 * 1024;

/** Most that are on their way at the same time, of everybody: who asks needs no token. */
const mostAtOnce = 32;

/** Most that one address may ask in a minute. */
const mostOfOne = 120;

const minuteMs = 60_000;

/** Addresses that are counted. */
const clients = 10_000;

/**
 * `POST /sign-in/begin`, `/finish`, `/renew` and `/end`, each a JSON object with the `name` of a way to sign in and the
 * address of the `page`.
 * @param current the ways of the moment; `undefined`: there are none
 */
export const signInDoor =
  (current: () => SignIns | undefined): Door =>
  async (app, { gateway, settings }) => {
    const client = clientOfRequest(settings);
    const asked = new Recent<string, { count: number; readonly until: number }>(clients);
    let running = 0;
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      "application/json",
      { parseAs: "buffer", bodyLimit },
      (_request, bytes, done) => {
        const { json, defect } = parseBody(bytes as Buffer);
        if (defect) done(defect);
        else done(null, json);
      },
    );
    app.setErrorHandler((error, _request, reply) =>
      sendError(reply.header("cache-control", "no-store"), fromFastify(error, bodyLimit)),
    );

    const steps: Readonly<Record<string, Step>> = {
      async begin(ways, read) {
        const [name, page] = [read.text("name"), read.text("page")];
        return read.done() ?? ways.begin(name, page);
      },
      async finish(ways, read) {
        const name = read.text("name");
        const iss = read.text("iss", false) || undefined;
        const error = read.text("error", false);
        if (error !== "") {
          const description = read.text("error_description", false) || undefined;
          return read.done() ?? ways.refuse(name, { error, description, iss });
        }
        const returned = {
          code: read.text("code"),
          verifier: read.text("verifier"),
          nonce: read.text("nonce"),
          page: read.text("page"),
          iss,
        };
        return read.done() ?? ways.finish(name, returned);
      },
      async renew(ways, read) {
        const [name, token] = [read.text("name"), read.text("refresh_token")];
        const idToken = read.text("id_token");
        return read.done() ?? ways.renew(name, token, idToken);
      },
      async end(ways, read, tell) {
        const name = read.text("name");
        const leaving = {
          page: read.text("page"),
          refreshToken: read.text("refresh_token", false) || undefined,
          idToken: read.text("id_token", false) || undefined,
        };
        read.done();
        const { url, failures } = await ways.end(name, leaving);
        failures.forEach(tell);
        const problem = failures.map(({ message }) => message).join("; ") || undefined;
        return { url, problem };
      },
    };

    for (const [name, step] of Object.entries(steps)) {
      app.post(`/sign-in/${name}`, { bodyLimit }, (request, reply) =>
        answer(name, step, request, reply),
      );
    }

    async function answer(
      name: string,
      step: Step,
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<FastifyReply> {
      reply.header("cache-control", "no-store");
      const from = client(request.headers, request.raw);
      const tell = (error: LintelError) => {
        const { code, message, cause } = error;
        const reason = cause === undefined ? undefined : reasonOf(cause);
        gateway.log[levelOf(error)](
          { id: request.id, step: name, client: from, code, error: message, cause: reason },
          "a sign-in failed",
        );
      };
      try {
        const ways = current();
        const body = (request.body ?? {}) as JsonObject;
        checkPage(body.page, request.headers.origin);
        if (!ways) throw new LintelError("not_found", "nobody signs in here");
        count(from ?? "");
        running++;
        try {
          return reply.send(await step(ways, new Reader(body), tell));
        } finally {
          running--;
        }
      } catch (thrown) {
        const error = toLintelError(thrown);
        tell(error);
        return sendError(reply, error);
      }
    }

    /** @throws LintelError if it is one too many */
    function count(from: string): void {
      if (running >= mostAtOnce) {
        throw new LintelError("overloaded", "too many people sign in at this moment; try again");
      }
      const now = performance.now();
      const known = asked.get(from);
      const counted = known && now < known.until ? known : { count: 0, until: now + minuteMs };
      if (++counted.count > mostOfOne) {
        const retryAfter = Math.ceil((counted.until - now) / 1000);
        const message = "too many sign-ins from this address; try again in a minute";
        throw new LintelError("rate_limited", message, { retryAfter });
      }
      if (counted !== known) asked.set(from, counted);
    }
  };

/** @param tell of what failed, and ends it not */
type Step = (ways: SignIns, read: Reader, tell: (error: LintelError) => void) => Promise<object>;

/** Reads texts out of a body, and notes what is wrong with them. */
class Reader {
  readonly #body: JsonObject;
  readonly #found: Violation[] = [];

  constructor(body: JsonObject) {
    this.#body = body;
  }

  /** @returns an empty text where there is none */
  text(field: string, required = true): string {
    const value = this.#body[field] ?? "";
    if (typeof value !== "string") this.#found.push({ field, message: "must be a text" });
    else if (value !== "" || !required) return value;
    else this.#found.push({ field, message: "is required" });
    return "";
  }

  /** @throws LintelError that names every field at fault */
  done(): undefined {
    if (this.#found.length > 0) throw invalidFields(this.#found);
    return undefined;
  }
}

/**
 * The issuer sends people, with what opens the gateway, to no other page than the one that asks.
 * @param origin what the browser says of who asks; absent: no page does
 */
function checkPage(page: unknown, origin: string | undefined): void {
  const url = typeof page === "string" && URL.canParse(page) ? new URL(page) : undefined;
  const plain =
    url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}${url.pathname}`;
  if (!plain) {
    const message = "must be the page's own address, without query and fragment";
    throw invalidFields([{ field: "page", message }]);
  }
  if (origin !== undefined && origin !== url.origin) {
    throw invalidFields([{ field: "page", message: "must be of the page that asks" }]);
  }
}
