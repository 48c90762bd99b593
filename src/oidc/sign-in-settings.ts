/** What an operator sets about how people sign in. */
import type { IssuerSettings } from "./settings.js";

/** A way to sign in: a client that an issuer knows. */
export interface SignInSettings {
  /** What its button says, and what it is asked for by. */
  readonly name: string;
  readonly issuer: IssuerSettings;
  readonly clientId: string;
  /** Absent: a public client. */
  readonly clientSecret?: string | undefined;
  readonly scopes: readonly string[];
  /** Which of the tokens that the issuer gives is the bearer token. */
  readonly token: "access_token" | "id_token";
  /** What the access token is to be for (RFC 8707); absent: the issuer decides. */
  readonly resource?: string | undefined;
  /** More of the request that people are sent to the issuer with. */
  readonly parameters: Readonly<Record<string, string>>;
}
