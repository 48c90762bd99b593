/**
 * How people sign in at an issuer: by the authorization code flow with PKCE. What belongs to one of them is kept by
 * who signs in, so that any process of any gateway can go on with it.
 */
import { createHash, randomBytes } from "node:crypto";
import type { JWTPayload } from "jose";
import { environmentProxies, type Proxies } from "../backends/http/proxy.js";
import { LintelError, toLintelError } from "../core/errors.js";
import type { OidcCallers } from "./callers.js";
import type { Described } from "./discovery.js";
import { checkNonce, checkRenewed, claimsOf } from "./id-token.js";
import { endpointIn, IssuerClient } from "./issuer-client.js";
import type { SignInSettings } from "./sign-in-settings.js";
import { refusalOf, secretsIn, tokensIn } from "./token-endpoint.js";

/** A sign-in that was begun. */
export interface Begun {
  /** Where to go. */
  readonly url: string;
  /** What has to come back. */
  readonly state: string;
  /** What the id token has to hold. */
  readonly nonce: string;
  /** Shows that who ends it has begun it. */
  readonly verifier: string;
}

/** What comes back to the page, and what it knows from before. */
export interface Returned {
  readonly code: string;
  readonly verifier: string;
  readonly nonce: string;
  /** Address of the page, as it was when it began. */
  readonly page: string;
  /** Whose answer it says it is (RFC 9207); absent: it does not say. */
  readonly iss?: string | undefined;
}

/** What comes back to the page of somebody whom the issuer does not sign in. */
export interface Refused {
  /** Its code, and its words. */
  readonly error: string;
  readonly description?: string | undefined;
  /** As that of `Returned`. */
  readonly iss?: string | undefined;
}

/** What somebody has who signed in. */
export interface Session {
  /** Calls are made with it. */
  readonly token: string;
  /** How long it counts, seconds from now. */
  readonly expires_in: number;
  /** Gets another one; absent: there is none. */
  readonly refresh_token?: string | undefined;
  /** Tells the issuer who signs out. */
  readonly id_token?: string | undefined;
}

/** What somebody leaves with. */
export interface Leaving {
  readonly page: string;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
}

/** How somebody leaves. */
export interface Left {
  /** Where they sign out at the issuer; absent: it has no such place, or does not say it well. */
  readonly url?: string | undefined;
  /** What could not be done there. */
  readonly failures: readonly LintelError[];
}

/** Longest `id_token_hint`, letters: it stands in an address. */
const longestHint = 4096;

const secret = (): string => randomBytes(32).toString("base64url");

/** The ways to sign in that an operator has set. */
export class SignIns {
  readonly names: readonly string[];
  readonly #clients: ReadonlyMap<string, IssuerClient>;
  readonly #callers: OidcCallers;

  /**
   * @param callers checks what the issuers give out
   * @param proxies default: the environment's
   */
  constructor(
    ways: readonly SignInSettings[],
    callers: OidcCallers,
    proxies: Proxies = environmentProxies(),
  ) {
    this.names = ways.map(({ name }) => name);
    this.#callers = callers;
    this.#clients = new Map(ways.map((one) => [one.name, new IssuerClient(one, proxies)]));
  }

  /**
   * Says where somebody signs in.
   * @param page address of the page that the issuer sends them back to
   * @throws LintelError `not_found` for a name that there is none of, `unavailable` while the issuer is away
   */
  async begin(name: string, page: string): Promise<Begun> {
    const client = this.#client(name);
    const { settings } = client;
    const url = endpointIn(await client.described(), "authorization_endpoint");
    const [state, nonce, verifier] = [secret(), secret(), secret()];
    const asked = {
      ...settings.parameters,
      response_type: "code",
      client_id: settings.clientId,
      redirect_uri: page,
      scope: settings.scopes.join(" "),
      state,
      nonce,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      ...(settings.resource !== undefined && { resource: settings.resource }),
    };
    for (const [key, value] of Object.entries(asked)) url.searchParams.set(key, value);
    return { url: url.href, state, nonce, verifier };
  }

  /**
   * Gets the tokens for a code.
   * @throws LintelError as `begin`; `invalid_value` if the issuer refuses the code, or the answer is not that
   *   of its issuer, or not to what was begun; `invalid_token` if the tokens open nothing here
   */
  async finish(name: string, { code, verifier, nonce, page, iss }: Returned): Promise<Session> {
    const client = this.#client(name);
    const described = await client.described();
    checkIssuer(client, described, iss);
    const form = {
      grant_type: "authorization_code",
      code,
      redirect_uri: page,
      code_verifier: verifier,
    };
    return this.#session(client, described, form, (idToken) => {
      if (idToken === undefined)
        throw new LintelError("upstream_failed", `${name} gave no id token`);
      checkNonce(idToken, nonce);
    });
  }

  /**
   * Says why somebody was not signed in.
   * @throws LintelError as `finish`, always: what the issuer said, if it is its answer
   */
  async refuse(name: string, { error, description, iss }: Refused): Promise<never> {
    const client = this.#client(name);
    // Else it is not known who said that.
    checkIssuer(client, await client.described(), iss);
    throw refusalOf(name, { status: 400, json: { error, error_description: description } }, []);
  }

  /**
   * Gets another token.
   * @param idToken what the issuer said before of who signed in: this page holds it, and harms itself alone with another
   * @returns with the refresh token that counts from now on
   * @throws LintelError as `finish`: `invalid_value` if that counts no more, or is another person's
   */
  async renew(name: string, refreshToken: string, idToken: string): Promise<Session> {
    const client = this.#client(name);
    const before = claimsOf(idToken);
    const form = { grant_type: "refresh_token", refresh_token: refreshToken };
    const session = await this.#session(client, await client.described(), form, (renewed) => {
      // It need not give one.
      if (renewed) checkRenewed(renewed, before);
    });
    return { ...session, refresh_token: session.refresh_token ?? refreshToken };
  }

  /**
   * Tells the issuer that somebody leaves: their refresh token counts no more (RFC 7009).
   * @throws LintelError as `begin`
   */
  async end(name: string, { page, refreshToken, idToken }: Leaving): Promise<Left> {
    const client = this.#client(name);
    const described = await client.described();
    const failures: LintelError[] = [];
    const failed = (error: unknown) => void failures.push(toLintelError(error));
    if (refreshToken !== undefined && described.revocation_endpoint !== undefined) {
      await client.revoke(described, refreshToken).catch(failed);
    }
    if (described.end_session_endpoint === undefined) return { failures };
    try {
      const url = endpointIn(described, "end_session_endpoint");
      url.searchParams.set("client_id", client.settings.clientId);
      url.searchParams.set("post_logout_redirect_uri", page);
      if (idToken !== undefined && idToken.length <= longestHint) {
        url.searchParams.set("id_token_hint", idToken);
      }
      return { url: url.href, failures };
    } catch (error) {
      failed(error);
      return { failures };
    }
  }

  #client(name: string): IssuerClient {
    const client = this.#clients.get(name);
    if (client) return client;
    throw new LintelError("not_found", "there is no sign-in of this name here; load the page anew");
  }

  /** @param check throws unless the id token, whose signature is right, is the one that has to come */
  async #session(
    client: IssuerClient,
    described: Described,
    form: Readonly<Record<string, string>>,
    check: (idToken: JWTPayload | undefined) => void,
  ): Promise<Session> {
    const { settings } = client;
    const { issuer, resource } = settings;
    const asked = resource === undefined ? form : { ...form, resource };
    const answer = await client.post(described, "token_endpoint", asked);
    if (answer.status !== 200) throw refusalOf(settings.name, answer, secretsIn(settings, form));
    const tokens = tokensIn(answer.json);
    const idToken = tokens.id_token;
    check(
      idToken === undefined
        ? undefined
        : await this.#vouched("id token", idToken, issuer.issuer, [settings.clientId]),
    );
    const token = tokens[settings.token];
    const kind = settings.token.replace("_", " ");
    if (token === undefined) {
      throw new LintelError("upstream_failed", `${settings.name} gave no ${kind}`);
    }
    const { exp = 0 } = await this.#vouched(kind, token, issuer.issuer);
    return {
      token,
      expires_in: Math.max(0, Math.floor(exp - Date.now() / 1000)),
      refresh_token: tokens.refresh_token,
      id_token: idToken,
    };
  }

  /** @throws LintelError that says which token it is about */
  async #vouched(kind: string, token: string, issuer: string, audience?: readonly string[]) {
    try {
      return await this.#callers.vouched(token, issuer, audience);
    } catch (error) {
      if (!(error instanceof LintelError) || error.code !== "invalid_token") throw error;
      const message = error.message.replace("the bearer token", `the ${kind} of the issuer`);
      throw new LintelError("invalid_token", message, { cause: error.cause });
    }
  }
}

/** @throws LintelError if an answer says that it is another issuer's, or not whose where it has to (RFC 9207) */
function checkIssuer(
  { settings }: IssuerClient,
  { authorization_response_iss_parameter_supported: says }: Described,
  iss: string | undefined,
): void {
  if (iss === undefined ? says !== true : iss === settings.issuer.issuer) return;
  const whose = iss === undefined ? "does not say whose it is" : "is another issuer's";
  throw new LintelError("invalid_value", `the answer ${whose}: nothing was done with it`);
}
