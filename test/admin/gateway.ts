/** A whole gateway that is administered, and clients of it. */
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { onTestFinished } from "vitest";
import { StatusService } from "../../gen/lintel/admin/v1/status_pb.js";
import { TokensService } from "../../gen/lintel/admin/v1/tokens_pb.js";
import { UsageService } from "../../gen/lintel/admin/v1/usage_pb.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { gateway } from "../support/gateway.js";

/** The token of the administrator `ops`. */
export const secret = createToken();

/** Lines for administration by `ops`. */
export const adminLines = (more = "") =>
  `admin:\n  tokens: [{ name: ops, hash: "${hashToken(secret)}" }]\n${more}`;

/** The header that calls as somebody. */
export const as = (token = secret) => ({ headers: { authorization: `Bearer ${token}` } });

/** The services over a transport. */
const services = (transport: Transport) => ({
  tokens: createClient(TokensService, transport),
  usage: createClient(UsageService, transport),
  status: createClient(StatusService, transport),
});

/** A gateway with a model `chat`, whose callers have issued tokens. */
export async function administered(more = adminLines(), mode = "token") {
  const server = await Upstream.start(echo);
  onTestFinished(() => server.close());
  const text = (more: string) => `auth: { mode: ${mode}, teams: [{ name: red }] }
backends: [{ type: openai, name: server, url: "${server.url}", models: [chat] }]
${more}`;
  const running = await gateway(text(more));
  const url = running.running.adminListeners?.[0]?.url ?? running.url;
  /** A call as curl makes it. */
  const post = async (method: string, body: unknown, token: string | null = secret, at = url) => {
    const response = await fetch(`${at}/lintel.admin.v1.${method}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: an answer, as a client looks at it
    const json: any = await response.json();
    return { status: response.status, headers: response.headers, json };
  };
  return {
    ...running,
    adminUrl: url,
    post,
    write: (more: string) => running.write(text(more)),
    ...services(createConnectTransport({ baseUrl: url, httpVersion: "1.1" })),
  };
}
