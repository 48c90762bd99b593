/** A real server on loopback that is told of budgets. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import type { bodyOf } from "../../src/alerts/body.js";

/** A request that came. */
interface Seen {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: ReturnType<typeof bodyOf>;
  /** The body as it came. */
  readonly raw: string;
}

/** A status, alone or with the `Retry-After` beside it. */
type Said = number | readonly [status: number, retryAfter: string];

/** A server that answers with these statuses in turn, 0 with nothing at all, and the last for good. */
export async function receiver(...statuses: Said[]) {
  const seen: Seen[] = [];
  const http = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const { url: path, headers } = request;
    seen.push({ path, headers, body: JSON.parse(text), raw: text });
    const said = (statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 0;
    const [status, retryAfter] = typeof said === "number" ? [said] : said;
    if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    if (status) response.writeHead(status).end("ok");
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/services/T0/secret?a=b`;
  return { url, seen, leave: () => new Promise((left) => http.close(left)) };
}

/** A call that costs a bit, to its end. */
export async function spend(
  url: string,
  token: string,
  { content, maxTokens }: { readonly content: string; readonly maxTokens: number },
): Promise<void> {
  const response = await fetch(`${url}/llm`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({
      ...{ model: "m", max_tokens: maxTokens },
      messages: [{ role: "user", content }],
    }),
  });
  expect(response.status).toBe(200);
  await response.text();
}
