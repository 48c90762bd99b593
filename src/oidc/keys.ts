/**
 * An issuer's public keys. They are read at start and again from time to time,
 * and at once when a token is of a key that is not among them. While the issuer
 * does not answer, the keys that are known go on counting.
 */
import {
  type CompactJWSHeaderParameters,
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
  type LocalJWKSet,
} from "jose";
import { environmentProxies, type Proxies } from "../backends/http/proxy.js";
import { LintelError } from "../core/errors.js";
import { type Logger, reasonOf } from "../core/log.js";
import { bearerIn, readDiscovery } from "./discovery.js";
import { readJson } from "./read-json.js";
import type { IssuerSettings } from "./settings.js";

/** How soon unknown keys make it be asked again, milliseconds: tokens can name any key. */
const cooldownMs = 10_000;

/** How soon it is asked again while it does not answer, milliseconds. */
const retryMs = 5000;

/** A token whose signature and claims are right. */
export interface VerifiedPayload {
  readonly payload: JWTPayload;
  /** `generation` of the keys that it was verified with. */
  readonly generation: number;
}

/** The keys of one issuer. `close` it when done. */
export class IssuerKeys {
  readonly #issuer: IssuerSettings;
  readonly #log: Logger;
  readonly #cooldownMs: number;
  readonly #proxies: Proxies;
  #set: LocalJWKSet | undefined;
  #text = "";
  #generation = 0;
  #loading: Promise<void> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #away = false;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * @param cooldown for tests; default 10000
   * @param proxies default: the environment's
   */
  constructor(
    issuer: IssuerSettings,
    log: Logger,
    cooldown = cooldownMs,
    proxies = environmentProxies(),
  ) {
    this.#issuer = issuer;
    this.#log = log;
    this.#cooldownMs = cooldown;
    this.#proxies = proxies;
  }

  /** Whether the keys could not be read when they were last asked for. */
  get away(): boolean {
    return this.#away;
  }

  /** Changes when the keys do: what was verified before has to be verified again. */
  get generation(): number {
    return this.#generation;
  }

  /** Knows from the start what another reader of the same keys knows. */
  takeOver(other: IssuerKeys): void {
    const { issuer, jwksUrl } = this.#issuer;
    if (other.#issuer.issuer !== issuer || other.#issuer.jwksUrl !== jwksUrl) return;
    this.#set = other.#set;
    this.#text = other.#text;
    this.#away = other.#away;
  }

  /** Begins to read the keys. */
  start(): void {
    void this.#readOnce().catch(() => {});
  }

  /** Stops reading. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /**
   * Verifies a token. Where several keys fit, since it names none, each is tried.
   * @throws as `jwtVerify` does: JWKSNoMatchingKey if the issuer has no such key;
   *   LintelError `unavailable` if it can't be asked
   */
  async verify(token: string, options: JWTVerifyOptions): Promise<VerifiedPayload> {
    try {
      return await this.#verify(token, options);
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      // A token that names no key may be signed with one that is new.
      const named = decodeProtectedHeader(token).kid !== undefined;
      const known = this.#generation;
      if (named || !(await this.#reread()) || this.#generation === known) throw error;
      return this.#verify(token, options);
    }
  }

  async #verify(token: string, options: JWTVerifyOptions): Promise<VerifiedPayload> {
    const used = { generation: 0 };
    const find = (header: CompactJWSHeaderParameters, input: FlattenedJWSInput) =>
      this.#find(header, input, used);
    try {
      const { payload } = await jwtVerify(token, find, options);
      return { payload, ...used };
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      const payload = await verifyWithEach(error, token, options);
      return { payload, ...used };
    }
  }

  async #find(header: CompactJWSHeaderParameters, token: FlattenedJWSInput, used: Used) {
    if (!this.#set) await this.#load();
    try {
      return await this.#match(header, token, used);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!(await this.#reread())) throw error;
      return await this.#match(header, token, used);
    }
  }

  /** Reads the keys anew. @returns whether it did: not if they were read just now */
  async #reread(): Promise<boolean> {
    const asked = performance.now() - this.#askedAt < this.#cooldownMs;
    if (asked && !this.#loading && !this.#away) return false;
    await this.#load();
    return true;
  }

  #match(header: CompactJWSHeaderParameters, token: FlattenedJWSInput, used: Used) {
    if (!this.#set) throw this.#unavailable();
    // Now: while a key is imported the keys may change.
    used.generation = this.#generation;
    return this.#set(header, token);
  }

  #load(): Promise<void> {
    const recently = performance.now() - this.#askedAt < Math.min(this.#cooldownMs, 1000);
    // While it does not answer, callers don't wait for it one after the other.
    if (this.#away && recently && !this.#loading) return Promise.reject(this.#unavailable());
    return this.#readOnce();
  }

  /** Reads the keys, for all who wait for them; and again after a while. */
  #readOnce(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
      clearTimeout(this.#timer);
      if (this.#closed) return;
      const { refreshMs } = this.#issuer;
      const pause = this.#away ? Math.min(retryMs, refreshMs) : refreshMs;
      this.#timer = setTimeout(() => this.start(), pause);
      this.#timer.unref();
    });
    return this.#loading;
  }

  async #read(): Promise<void> {
    const { name } = this.#issuer;
    this.#askedAt = performance.now();
    try {
      const token = await bearerIn(this.#issuer.tokenFile);
      const url = this.#issuer.jwksUrl ?? (await this.#discover(token));
      const keys = (await readJson(url, this.#proxies, token)) as JSONWebKeySet;
      const set = createLocalJWKSet(keys);
      const text = JSON.stringify(keys);
      if (text !== this.#text) this.#generation++;
      this.#text = text;
      this.#set = set;
      if (this.#away) this.#log.info({ issuer: name }, "the issuer's keys can be read again");
      this.#away = false;
    } catch (error) {
      if (!this.#away && !this.#closed) {
        const words = this.#set
          ? "the issuer's keys can't be read; those that are known go on counting"
          : "the issuer's keys can't be read; its tokens are refused until they can";
        this.#log.warn({ issuer: name, error: reasonOf(error) }, words);
      }
      this.#away = true;
      throw this.#unavailable(error);
    }
  }

  /** The keys' address, out of the issuer's discovery document. */
  async #discover(token: string | undefined): Promise<string> {
    const { jwks_uri: uri } = await readDiscovery(this.#issuer.issuer, this.#proxies, token);
    if (typeof uri !== "string") throw new Error("its discovery document has no jwks_uri");
    return uri;
  }

  #unavailable(cause?: unknown): LintelError {
    return new LintelError("unavailable", "the bearer token can't be checked now", { cause });
  }
}

/** Whether another key may be the one: this one is not, or is none that can be used, as one that is too short. */
const isOtherKeys = (error: unknown): boolean =>
  error instanceof errors.JWSSignatureVerificationFailed || !(error instanceof errors.JOSEError);

/** Which keys were looked through. */
interface Used {
  generation: number;
}

async function verifyWithEach(
  keys: errors.JWKSMultipleMatchingKeys,
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      if (!isOtherKeys(error)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}
