/** An issuer, and callers whom its tokens let in. */
import { afterEach, beforeEach, expect } from "vitest";
import { issuerSettings } from "../../src/config/issuers.js";
import type { Caller } from "../../src/core/call.js";
import type { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { OidcCallers } from "../../src/oidc/callers.js";
import { valid } from "../config/text.js";
import { Issuer } from "./issuer.js";

/** Starts an issuer for each test of a file, and ends it with all that goes by it. */
export function eachWithIssuer() {
  let issuer: Issuer;
  const open: OidcCallers[] = [];
  beforeEach(async () => {
    issuer = new Issuer();
    await issuer.start();
  });
  afterEach(async () => {
    for (const callers of open.splice(0)) callers.close();
    await issuer.stop();
  });
  return {
    get issuer() {
      return issuer;
    },
    /**
     * Callers as a configuration has them.
     * @param more further lines of the issuer
     * @param address of the issuer
     * @param teams further lines of `auth`
     */
    callersOf(
      more = "",
      log = silent,
      cooldownMs = 0,
      { address = issuer.url, teams = "" } = {},
    ): OidcCallers {
      const { auth } = valid(`auth:
  mode: token
  ${teams}
  oidc:
    - name: corp
      issuer: ${address}
      audience: [lintel, other]
${more.replace(/^/gm, "      ")}`);
      const callers = new OidcCallers(issuerSettings(auth), log, cooldownMs);
      open.push(callers);
      return callers;
    },
  };
}

/** Whose token it is, whenever it ends, or the error's code and words. */
export async function who(
  callers: OidcCallers,
  token: string,
): Promise<Caller | string | undefined> {
  try {
    const found = await callers.find(token);
    if (!found) return undefined;
    const { expiresAt, ...caller } = found;
    expect(expiresAt).toBeGreaterThan(Date.now());
    return caller;
  } catch (error) {
    return `${(error as LintelError).code}: ${(error as LintelError).message}`;
  }
}
