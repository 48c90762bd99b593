/** A whole gateway whose people sign in, and what its page asks it. */
import type { IncomingMessage } from "node:http";
import { onTestFinished } from "vitest";
import type { Json } from "../contract/wire.js";
import { Issuer } from "../oidc/issuer.js";
import { gateway } from "../support/gateway.js";

/**
 * Its configuration.
 * @param more further fields of the sign-in, each after a comma
 * @param rest further sections
 */
export const configured = (issuer: string, more = "", rest = "") => `auth:
  mode: token
  oidc: [{ name: corp, issuer: "${issuer}", audience: lintel }]
console:
  sign_in: [{ name: Corp, issuer: corp, client_id: console${more} }]
backends: []
${rest}`;

/** Starts one. @param more @param rest as for `configured` */
export async function signInsOf(issuer: string, more = "", rest = "") {
  const running = await gateway(configured(issuer, more, rest));
  const page = `${running.url}/`;
  const post = async (
    step: string,
    body: object | string,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(`${running.url}/sign-in/${step}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const json: Json = await response.json();
    return { status: response.status, headers: response.headers, json };
  };
  /** Status, code and words of what is refused. */
  const refused = async (...asked: Parameters<typeof post>) => {
    const { status, json } = await post(...asked);
    return [status, json.error?.code, json.error?.message];
  };
  return { ...running, page, post, refused };
}

/** What an endpoint answers, and what it was asked. */
export interface Endpoint {
  status: number;
  /** JSON, or what stands in its place. */
  body: unknown;
  /** Hears of what is asked, which is not answered then; absent: it is. */
  held: (() => void) | undefined;
  readonly asked: { readonly form: URLSearchParams; readonly authorization: string | undefined }[];
}

/** An issuer with a token endpoint and one to revoke tokens, whose answers the test writes. */
export async function scriptedIssuer() {
  const issuer = new Issuer();
  await issuer.start();
  onTestFinished(() => issuer.stop());
  const endpoint = (): Endpoint => ({ status: 200, body: {}, held: undefined, asked: [] });
  const endpoints = { token: endpoint(), revoke: endpoint() };
  issuer.described = {
    authorization_endpoint: `${issuer.url}/auth`,
    token_endpoint: `${issuer.url}/token`,
    revocation_endpoint: `${issuer.url}/revoke`,
    end_session_endpoint: `${issuer.url}/end`,
  };
  issuer.instead = (request, response) => {
    const name = request.method === "POST" && request.url?.split("/").at(-1);
    if (name !== "token" && name !== "revoke") return false;
    const { asked, status, body, held } = endpoints[name];
    if (held) {
      held();
      return true;
    }
    void textOf(request).then((text) => {
      asked.push({ form: new URLSearchParams(text), authorization: request.headers.authorization });
      response.writeHead(status, { "content-type": "application/json" });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
    return true;
  };
  /** Tokens of somebody. @param idToken further claims of the id token */
  const tokens = async (idToken: object = {}, sub = "alice") => ({
    access_token: await issuer.sign({ sub }),
    id_token: await issuer.sign({ sub, aud: "console", ...idToken }),
    refresh_token: `refresh-of-${sub}-0123456789`,
  });
  return { issuer, ...endpoints, tokens };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}
