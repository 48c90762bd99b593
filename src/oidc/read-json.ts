/** Documents of an issuer: its description, its keys. */
import type { Proxies } from "../backends/http/proxy.js";
import { Collected } from "../core/pieces.js";
import { mayWantTls, tlsIsSpoken, wantsTls, wasClosed } from "../core/tls-errors.js";

/** How long the issuer may take to answer, milliseconds. */
const answerMs = 5000;

/** Most bytes of an answer, unpacked: a key has one or two thousand. */
const answerLimit = 1024 * 1024;

/**
 * Reads a document of JSON.
 * @param token is asked with; absent: none
 * @throws Error if it does not come in time, is too large, or comes not with a success
 */
export async function readJson(url: string, proxies: Proxies, token?: string): Promise<unknown> {
  const init = {
    headers: {
      accept: "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    redirect: "error",
    signal: AbortSignal.timeout(answerMs),
  } as const;
  if (!proxies.for(url)) return jsonOf(url, await fetch(url, init).catch(rethrow(url)));
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

/** @throws it, with what may be so where one that was asked with no TLS ended the connection */
const rethrow =
  (url: string) =>
  (error: unknown): never => {
    throw wasClosed((error as Error).cause) && url.startsWith("http:")
      ? Object.assign(error as Error, { remedy: mayWantTls })
      : error;
  };

/** What a refusal says first, which is all that those say who want TLS; empty where nothing comes. */
async function firstWords(body: Body | null): Promise<string> {
  try {
    for await (const piece of body ?? []) return new TextDecoder().decode(piece);
  } catch {
    // Its status counts.
  }
  return "";
}

/** What an answer holds. @throws Error that names the status, unless it is a success */
async function jsonOf(
  url: string,
  { ok, status, body }: Pick<Response, "ok" | "status"> & { body: Body | null },
): Promise<unknown> {
  if (!ok) {
    const said = status === 400 ? await firstWords(body) : "";
    if (said === "") await body?.cancel().catch(() => {});
    const why = wantsTls(said) ? `: ${tlsIsSpoken}` : "";
    throw new Error(`${url} answers with status ${status}${why}`);
  }
  const whole = new Collected();
  // To leave the loop ends the answer.
  for await (const piece of body ?? []) {
    whole.add(piece);
    if (whole.length > answerLimit) throw new Error(`${url} answers with more than 1 MiB`);
  }
  return JSON.parse(new TextDecoder().decode(whole.take()));
}

type Body = AsyncIterable<Uint8Array> & { cancel(): Promise<void> };
