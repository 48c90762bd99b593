/** A whole gateway whose callers an issuer lets in, and may make tokens there. */
import { afterEach, beforeEach, onTestFinished } from "vitest";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import type { Json } from "../contract/wire.js";
import { gateway } from "../support/gateway.js";
import { Issuer } from "./issuer.js";

/** Starts an issuer for each test of a file. */
export function eachWithGateway() {
  let issuer: Issuer;
  beforeEach(async () => {
    issuer = new Issuer();
    await issuer.start();
  });
  afterEach(() => issuer.stop());
  return {
    get issuer() {
      return issuer;
    },
    /**
     * A gateway with the models `small` and `large`.
     * @param own lines of the issuer
     * @param more further sections
     * @param auth further lines of `auth`
     */
    async served(own = "own_tokens: {}", more = "", auth = "") {
      const server = await Upstream.start(echo);
      onTestFinished(() => server.close());
      const text = (own: string, more: string) => `auth:
  mode: token
  ${auth}
  oidc:
    - name: corp
      issuer: ${issuer.url}
      audience: lintel
${own.replace(/^/gm, "      ")}
backends: [{ type: openai, name: server, url: "${server.url}", models: [small, large] }]
${more}`;
      const running = await gateway(text(own, more));
      const call = async (method: string, path: string, token: string, body?: object) => {
        const response = await fetch(`${running.url}${path}`, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body && { "content-type": "application/json" }),
          },
          ...(body && { body: JSON.stringify(body) }),
        });
        const json: Json = await response.json();
        return { status: response.status, json };
      };
      return {
        ...running,
        call,
        /** Makes a token; answers it. */
        async make(token: string, name: string): Promise<{ id: string; secret: string }> {
          const { status, json } = await call("POST", "/account/tokens", token, { name });
          if (status !== 200) throw new Error(`not made: ${JSON.stringify(json)}`);
          return { id: json.token.id, secret: json.secret };
        },
        /** Status of a call with a token. */
        calls: async (token: string, model = "small") =>
          (await running.chat(model, "Hello", token)).status,
        /** Another configuration takes the place of this one. */
        async changed(own: string, later = more) {
          running.write(text(own, later));
          await running.reload();
        },
      };
    },
  };
}
