/**
 * How people sign in at an issuer: by the authorization code flow with PKCE. What belongs to one of them is kept by
 * who signs in, so that any process of any gateway can go on with it.
 */
import { createHash, randomBytes } from "node:crypto";
import { environmentProxies, type Proxies } from "../backends/http/proxy.js";
import { LintelError } from "../core/errors.js";
import type { OidcCallers } from "./callers.js";
import { type Described, Discovery } from "./discovery.js";
import { postForm } from "./read-json.js";
import type { SignInSettings } from "./sign-in-settings.js";
import { authorizationOf, refusalOf, secretsIn, tokensIn } from "./token-endpoint.js";

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

/** Longest `id_token_hint`, letters: it stands in an address. */
const longestHint = 4096;

const secret = (): string => randomBytes(32).toString("base64url");

/** The ways to sign in that an operator has set. */
export class SignIns {
  readonly names: readonly string[];
  readonly #ways: ReadonlyMap<string, { settings: SignInSettings; discovery: Discovery }>;
  readonly #callers: OidcCallers;
  readonly #proxies: Proxies;

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
    this.#proxies = proxies;
    this.#ways = new Map(
      ways.map((settings) => [
        settings.name,
        { settings, discovery: new Discovery(settings.issuer, proxies) },
      ]),
    );
  }

  /**
   * Says where somebody signs in.
   * @param page address of the page that the issuer sends them back to
   * @throws LintelError `not_found` for a name that there is none of, `unavailable` while the issuer is away
   */
  async begin(name: string, page: string): Promise<Begun> {
    const { settings } = this.#way(name);
    const url = this.#endpoint(await this.#described(name), "authorization_endpoint");
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
    const { settings } = this.#way(name);
    const described = await this.#described(name);
    const mustSay = described.authorization_response_iss_parameter_supported === true;
    if (iss === undefined ? mustSay : iss !== settings.issuer.issuer) {
      const says = iss === undefined ? "does not say whose it is" : "is another issuer's";
      throw new LintelError("invalid_value", `the answer ${says}: nothing was done with it`);
    }
    const form = {
      grant_type: "authorization_code",
      code,
      redirect_uri: page,
      code_verifier: verifier,
    };
    return this.#session(name, described, form, nonce);
  }

  /**
   * Gets another token.
   * @returns with the refresh token that counts from now on
   * @throws LintelError as `finish`: `invalid_value` if that counts no more
   */
  async renew(name: string, refreshToken: string): Promise<Session> {
    this.#way(name);
    const form = { grant_type: "refresh_token", refresh_token: refreshToken };
    const session = await this.#session(name, await this.#described(name), form);
    return { ...session, refresh_token: session.refresh_token ?? refreshToken };
  }

  /**
   * Tells the issuer that somebody leaves: their refresh token counts no more (RFC 7009).
   * @returns where they sign out there; `undefined`: the issuer has no such place
   */
  async end(name: string, { page, refreshToken, idToken }: Leaving): Promise<string | undefined> {
    const { settings } = this.#way(name);
    const described = await this.#described(name);
    if (refreshToken !== undefined && described.revocation_endpoint !== undefined) {
      const form = { token: refreshToken, token_type_hint: "refresh_token" };
      await this.#post(name, described, "revocation_endpoint", form);
    }
    if (described.end_session_endpoint === undefined) return undefined;
    const url = this.#endpoint(described, "end_session_endpoint");
    url.searchParams.set("client_id", settings.clientId);
    url.searchParams.set("post_logout_redirect_uri", page);
    if (idToken !== undefined && idToken.length <= longestHint) {
      url.searchParams.set("id_token_hint", idToken);
    }
    return url.href;
  }

  #way(name: string) {
    const way = this.#ways.get(name);
    if (way) return way;
    throw new LintelError("not_found", "there is no sign-in of this name here; load the page anew");
  }

  async #described(name: string): Promise<Described> {
    try {
      return await this.#way(name).discovery.read();
    } catch (cause) {
      throw away(name, cause);
    }
  }

  /** @throws LintelError if the issuer says no address that a browser should be sent to */
  #endpoint(described: Described, key: string): URL {
    const said = described[key];
    const url = typeof said === "string" && URL.canParse(said) ? new URL(said) : undefined;
    if (url && /^https?:$/.test(url.protocol)) return url;
    const cause = new Error(`its discovery document has no ${key} over http or https`);
    throw new LintelError("unavailable", `the issuer offers no ${key}`, { cause });
  }

  async #post(
    name: string,
    described: Described,
    key: string,
    form: Readonly<Record<string, string>>,
  ) {
    const { settings } = this.#way(name);
    const { fields, authorization } = authorizationOf(settings, described);
    const url = this.#endpoint(described, key).href;
    try {
      const all = new URLSearchParams({ ...form, ...fields });
      return await postForm(url, this.#proxies, all, authorization);
    } catch (cause) {
      throw away(name, cause);
    }
  }

  /** @param nonce that the id token must have; absent: any, as of one that was renewed */
  async #session(
    name: string,
    described: Described,
    form: Readonly<Record<string, string>>,
    nonce?: string,
  ): Promise<Session> {
    const { settings } = this.#way(name);
    const { issuer, resource } = settings;
    const asked = resource === undefined ? form : { ...form, resource };
    const answer = await this.#post(name, described, "token_endpoint", asked);
    if (answer.status !== 200) throw refusalOf(name, answer, secretsIn(settings, form));
    const tokens = tokensIn(answer.json);
    const idToken = tokens.id_token;
    if (idToken !== undefined) {
      const payload = await this.#vouched("id token", idToken, issuer.issuer, [settings.clientId]);
      if (nonce !== undefined && payload.nonce !== nonce) {
        const message = "the id token is not of what was begun here: its nonce does not fit";
        throw new LintelError("invalid_value", message);
      }
    } else if (nonce !== undefined) {
      throw new LintelError("upstream_failed", `${name} gave no id token`);
    }
    const token = tokens[settings.token];
    const kind = settings.token.replace("_", " ");
    if (token === undefined) throw new LintelError("upstream_failed", `${name} gave no ${kind}`);
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

const away = (name: string, cause: unknown): LintelError =>
  new LintelError("unavailable", `${name} can't be reached now`, { cause });
