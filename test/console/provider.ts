/** A real identity provider on loopback, and people who sign in there in a browser. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider, { type Configuration } from "oidc-provider";
import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { button } from "./browser.js";

/** What its access tokens are for. */
export const resource = "https://lintel.example";

/** Letters that the confidential client's secret has, and nothing else. */
export const clientSecret = "Xy-secret-of-the-confidential-client-0123456789";

export interface Identity {
  /** `iss` of its tokens. */
  readonly issuer: string;
  readonly provider: Provider;
  /** Requests that it got: method, path and, of posts, the form. */
  readonly asked: { readonly path: string; readonly authorization: string | undefined }[];
  /** Pages that it sends people back to. */
  readonly pages: Set<string>;
  /** How long its access tokens count, seconds. */
  ttl: number;
  /** `aud` of its access tokens. */
  audience: string;
  /** Further claims of them. */
  claims: Readonly<Record<string, unknown>>;
  /** Answers its requests in its place, where that returns true. */
  instead: ((...request: Parameters<RequestListener>) => boolean) | undefined;
}

/** Starts one that knows a public client `console` and a confidential one `portal`. It runs until the test ends. */
export async function startProvider(more: Configuration = {}): Promise<Identity> {
  let handle: RequestListener = () => {};
  const asked: Identity["asked"] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url ?? "", authorization: request.headers.authorization });
    if (!identity.instead?.(request, response)) handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const client = {
    redirect_uris: ["https://unused.example/"],
    post_logout_redirect_uris: ["https://unused.example/"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code" as const],
  };
  const provider = new Provider(issuer, {
    clients: [
      { ...client, client_id: "console", token_endpoint_auth_method: "none" },
      { ...client, client_id: "portal", client_secret: clientSecret },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig", kid: "one" }] },
    cookies: { keys: ["of this test"] },
    rotateRefreshToken: true,
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    extraTokenClaims: () => identity.claims as never,
    features: {
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "",
          audience: identity.audience,
          accessTokenTTL: identity.ttl,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    ...more,
  });
  const identity: Identity = {
    ...{ issuer, provider, asked, pages: new Set(), instead: undefined },
    ...{ ttl: 600, audience: "lintel", claims: {} },
  };
  // A gateway's port is known once it runs.
  const known = (page: string) => identity.pages.has(page);
  Object.assign(provider.Client.prototype, {
    redirectUriAllowed: known,
    postLogoutRedirectUriAllowed: known,
  });
  handle = provider.callback();
  return identity;
}

/** Signs in there as somebody, from the page where the button is. */
export async function signInAs(page: Page, who: string, way = "Corp"): Promise<void> {
  // Its own pages want fonts of the internet.
  await page.context().route(/^https:/, (route) => route.abort());
  await button(page, `Sign in with ${way}`).click();
  await page.locator("input[name=login]").fill(who);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}
