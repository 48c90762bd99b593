/** Documents of an issuer: its description, its keys. */
import type { Proxies } from "../backends/http/proxy.js";

/** How long the issuer may take to answer, milliseconds. */
const answerMs = 5000;

/**
 * Reads a document of JSON.
 * @throws Error if it does not come in time, or not with a success
 */
export async function readJson(url: string, proxies: Proxies): Promise<unknown> {
  const init = {
    headers: { accept: "application/json" },
    redirect: "error",
    signal: AbortSignal.timeout(answerMs),
  } as const;
  if (!proxies.for(url)) return jsonOf(url, await fetch(url, init));
  // Loaded here: Node's own `fetch` is there already, but knows no other version's connections.
  const [undici, { agentTo }] = await Promise.all([
    import("undici"),
    import("../backends/http/pools.js"),
  ]);
  const dispatcher = agentTo({ connect: { timeout: answerMs } }, proxies);
  try {
    return await jsonOf(url, await undici.fetch(url, { ...init, dispatcher }));
  } finally {
    await dispatcher.destroy();
  }
}

/** What an answer holds. @throws Error that names the status, unless it is a success */
async function jsonOf(
  url: string,
  answer: Pick<Response, "ok" | "status" | "json"> & { body: { cancel(): Promise<void> } | null },
): Promise<unknown> {
  if (answer.ok) return answer.json();
  await answer.body?.cancel();
  throw new Error(`${url} answers with status ${answer.status}`);
}
