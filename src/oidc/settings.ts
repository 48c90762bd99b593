/** What an operator sets about an issuer of JWTs. */
import type { OwnTokenSettings } from "../core/callers/own.js";
import type { CallerLimits, OwnLimits } from "../core/limits/settings.js";

/** Signatures that can be checked with a public key; nothing else is ever accepted. */
export const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** One of them. */
export type Algorithm = (typeof algorithms)[number];

/** What a caller may do. */
export interface Grant {
  /** Names, or patterns with one `*`; absent: all. */
  readonly models?: readonly string[] | undefined;
  readonly limits?: OwnLimits | undefined;
  /** Name of the team; absent: none. */
  readonly team?: string | undefined;
  /** Addresses and networks that they may call from; absent: everywhere. */
  readonly from?: readonly string[] | undefined;
}

/** Limits that are one number each. */
export type LimitClaim = Exclude<keyof CallerLimits, "budget">;

/**
 * Which claims say what. A claim is named as it stands in the token, or by the
 * way to it: `realm_access.roles`.
 */
export interface Claims {
  /** Who calls. */
  readonly id: string;
  /** Names of models: a list, or a text with blanks or commas between. */
  readonly models?: string | undefined;
  /** The team: a text, or a list of which one counts. */
  readonly team?: string | undefined;
  readonly limits: Readonly<Partial<Record<LimitClaim, string>>>;
}

/** A grant for callers of whom a claim says something. */
export interface ClaimRule extends Grant {
  readonly claim: string;
  /** What the claim is, or holds as one of several. */
  readonly value: string;
}

/** An issuer whose tokens count. Several have the same name where it has one for each of its tenants. */
export interface IssuerSettings {
  /** Callers are called `name:id`. */
  readonly name: string;
  /** `iss` of its tokens; its discovery document is found under it. */
  readonly issuer: string;
  /** `aud` of its tokens: one of these. */
  readonly audience: readonly string[];
  /** Where its keys are; absent: the discovery document says. */
  readonly jwksUrl?: string | undefined;
  /** File with a bearer token that its documents are asked for with; absent: none is sent. */
  readonly tokenFile?: string | undefined;
  readonly algorithms: readonly Algorithm[];
  /** How far clocks may be apart, milliseconds. */
  readonly clockToleranceMs: number;
  /** How often its keys are read again, milliseconds. */
  readonly refreshMs: number;
  readonly claims: Claims;
  /** Names of teams that the configuration knows: where a claim names several, the first of these counts. */
  readonly teams: readonly string[];
  /** The first that fits counts. */
  readonly rules: readonly ClaimRule[];
  /** For callers that no rule fits; absent: they are refused. */
  readonly otherwise?: Grant | undefined;
  /** Tokens that its callers may make for themselves; absent: none. */
  readonly ownTokens?: OwnTokenSettings | undefined;
}
