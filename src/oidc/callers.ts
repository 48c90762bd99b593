/** Callers for whom an OIDC issuer vouches with a JWT. */
import { decodeJwt, errors, type JWTPayload } from "jose";
import type { Caller } from "../core/call.js";
import { admit, type KnownToken } from "../core/callers/admit.js";
import type { TokenOwner, Voucher } from "../core/callers/own.js";
import type { CallerSource } from "../core/callers/source.js";
import { LintelError } from "../core/errors.js";
import type { Logger } from "../core/log.js";
import { Recent } from "../core/recent.js";
import { hashToken } from "../core/tokens.js";
import { callerFrom, claimsFor } from "./claims.js";
import { IssuerKeys, type VerifiedPayload } from "./keys.js";
import type { IssuerSettings } from "./settings.js";

/** Most verified tokens that are remembered, so that they are verified once. */
const capacity = 10_000;

/** Longest token that is looked at, letters. */
const longest = 16_384;

interface Issuer {
  readonly settings: IssuerSettings;
  readonly keys: IssuerKeys;
  /** Absent: its callers may make no tokens. */
  readonly voucher: Voucher | undefined;
}

/** How an issuer is. */
export interface IssuerState {
  readonly name: string;
  /** Whether its keys could not be read when they were last asked for. */
  readonly away: boolean;
}

interface Verified extends KnownToken {
  readonly issuer: Issuer;
  readonly generation: number;
}

/** A source of callers over issuers. `close` it when done. */
export class OidcCallers implements CallerSource {
  readonly #issuers: ReadonlyMap<string, Issuer>;
  readonly #verified = new Recent<string, Verified>(capacity);

  /** @param cooldownMs how soon a key that is not known makes the issuer be asked again */
  constructor(issuers: readonly IssuerSettings[], log: Logger, cooldownMs?: number) {
    this.#issuers = new Map(
      issuers.map((settings) => [
        settings.issuer,
        {
          settings,
          keys: new IssuerKeys(settings, log, cooldownMs),
          voucher: voucherOf(settings),
        },
      ]),
    );
  }

  /** Knows the keys that are known there: while an issuer is away they can't be read. */
  takeOver(before: OidcCallers): void {
    for (const [issuer, { keys }] of before.#issuers)
      this.#issuers.get(issuer)?.keys.takeOver(keys);
  }

  /** Begins to read the issuers' keys. */
  start(): void {
    for (const { keys } of this.#issuers.values()) keys.start();
  }

  close(): void {
    for (const { keys } of this.#issuers.values()) keys.close();
  }

  /** How the issuers are; one with several tenants is away where the keys of one of these are. */
  states(): IssuerState[] {
    const away = new Map<string, boolean>();
    for (const { settings, keys } of this.#issuers.values()) {
      away.set(settings.name, keys.away || away.get(settings.name) === true);
    }
    return [...away].map(([name, away]) => ({ name, away }));
  }

  find(token: string): Caller | undefined | Promise<Caller> {
    if (!token.startsWith("eyJ") || token.length > longest) return undefined;
    const hash = hashToken(token);
    const known = this.#verified.get(hash);
    if (known && known.generation === known.issuer.keys.generation) return admit(known);
    const issuer = this.#issuers.get(issuerOf(token) ?? "");
    return issuer && this.#verify(token, hash, issuer);
  }

  vouch({ issuer, claims }: TokenOwner): Caller | undefined {
    const settings = this.#issuers.get(issuer)?.settings;
    return settings?.ownTokens && callerFrom(claims, settings);
  }

  /**
   * What a token says that an issuer made, whoever it lets in.
   * @param issuer `iss` of the token
   * @param audience what it is meant for: one of these. Default: what the issuer's tokens are
   * @throws LintelError `invalid_token` if it does not count; `unavailable` if that can't be known now
   */
  async vouched(token: string, issuer: string, audience?: readonly string[]): Promise<JWTPayload> {
    const known = this.#issuers.get(issuer);
    if (!known) throw new LintelError("unavailable", "the issuer is not configured any more");
    if (token.length > longest) throw new LintelError("invalid_token", "the token is too long");
    return (await this.#check(token, known, audience)).payload;
  }

  async #verify(token: string, hash: string, issuer: Issuer): Promise<Caller> {
    const { settings, voucher } = issuer;
    const { payload, generation } = await this.#check(token, issuer);
    const expiresAt = (payload.exp ?? 0) * 1000 + settings.clockToleranceMs;
    const caller = {
      ...callerFrom(payload, settings),
      expiresAt,
      ...(voucher && { voucher }),
    };
    this.#verified.set(hash, { caller, issuer, generation });
    return caller;
  }

  async #check(
    token: string,
    { settings, keys }: Issuer,
    audience = settings.audience,
  ): Promise<VerifiedPayload> {
    try {
      const verified = await keys.verify(token, {
        issuer: settings.issuer,
        algorithms: [...settings.algorithms],
        clockTolerance: settings.clockToleranceMs / 1000,
        requiredClaims: ["exp"],
      });
      checkAudience(verified.payload, audience);
      return verified;
    } catch (error) {
      throw error instanceof LintelError ? error : refusal(error);
    }
  }
}

function voucherOf(settings: IssuerSettings): Voucher | undefined {
  const { issuer, ownTokens } = settings;
  if (!ownTokens) return undefined;
  // Read anew where a token is made: what is remembered of a JWT is small so.
  const claimsIn = (token: string) => claimsFor(decodeJwt(token), settings);
  return { issuer, settings: ownTokens, claimsIn };
}

/**
 * A token has to be meant for this service: by `aud`, or where it has none, as those of AWS Cognito for access, by
 * the client that it was issued to.
 * @throws JWTClaimValidationFailed as the library would
 */
function checkAudience(payload: JWTPayload, audience: readonly string[]): void {
  const { aud = payload.client_id } = payload;
  const fail = (reason: "missing" | "check_failed") =>
    new errors.JWTClaimValidationFailed("no audience fits", payload, "aud", reason);
  if (aud === undefined) throw fail("missing");
  if (![aud].flat().some((one) => audience.includes(one as string))) throw fail("check_failed");
}

/** `iss` of a token that was not verified yet. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

function refusal(error: unknown): LintelError {
  return new LintelError("invalid_token", `the bearer token ${reasonFor(error)}`, { cause: error });
}

function reasonFor(error: unknown): string {
  if (error instanceof errors.JWTExpired) {
    const { exp = Number.NaN } = error.payload;
    const when = new Date(exp * 1000);
    // Further numbers are no time that a date can be.
    return Number.isNaN(when.getTime()) ? "expired" : `expired at ${when.toISOString()}`;
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === "missing") return `has no claim ${error.claim}`;
    if (error.claim === "aud") {
      const by = error.payload.aud === undefined ? "client_id" : "aud";
      return `is meant for another service: its claim ${by} does not fit`;
    }
    if (error.claim === "nbf") return "does not count yet";
    return `has a claim ${error.claim} that does not fit`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed)
    return "is signed by an algorithm that does not count";
  if (error instanceof errors.JWKSNoMatchingKey)
    return "is signed with a key that its issuer does not have";
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return "has a signature that is not right";
  // The library says it of a key that is too short, or not what it says it is.
  if (!(error instanceof errors.JOSEError)) return "is signed with a key that can't be used";
  return "is not a JWT that can be read";
}
