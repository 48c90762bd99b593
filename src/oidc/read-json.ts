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
export const readJson = (url: string, proxies: Proxies, token?: string): Promise<unknown> =>
  asked(
    url,
    proxies,
    { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } },
    jsonOf,
  );

/** What came of a form. */
export interface FormAnswer {
  readonly status: number;
  /** The body's JSON; `undefined` where it has none. */
  readonly json: unknown;
}

/**
 * Posts a form.
 * @param authorization the header that it is sent with; absent: none
 * @throws Error if no answer comes in time, or too large a one
 */
export const postForm = (
  url: string,
  proxies: Proxies,
  form: URLSearchParams,
  authorization?: string,
): Promise<FormAnswer> => {
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const headers = authorization === undefined ? type : { ...type, authorization };
  return asked(
    url,
    proxies,
    { method: "POST", body: form.toString(), headers },
    async (_, answer) => {
      const text = await textOf(url, answer.body);
      try {
        return { status: answer.status, json: JSON.parse(text) };
      } catch {
        return { status: answer.status, json: undefined };
      }
    },
  );
};

interface Asking {
  readonly method?: string;
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Answer = Pick<Response, "ok" | "status"> & { readonly body: Body | null };

async function asked<T>(
  url: string,
  proxies: Proxies,
  asking: Asking,
  read: (url: string, answer: Answer) => Promise<T>,
): Promise<T> {
  const init = {
    ...asking,
    headers: { accept: "application/json", ...asking.headers },
    redirect: "error",
    signal: AbortSignal.timeout(answerMs),
  } as const;
  if (!proxies.for(url)) return read(url, await fetch(url, init).catch(rethrow(url)));
  // Loaded here: Node's own `fetch` is there already, but knows no other version's connections.
  const [undici, { agentTo }] = await Promise.all([
    import("undici"),
    import("../backends/http/pools.js"),
  ]);
  const dispatcher = agentTo({ connect: { timeout: answerMs } }, proxies);
  try {
    return await read(url, await undici.fetch(url, { ...init, dispatcher }));
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
async function jsonOf(url: string, { ok, status, body }: Answer): Promise<unknown> {
  if (!ok) {
    const said = status === 400 ? await firstWords(body) : "";
    if (said === "") await body?.cancel().catch(() => {});
    const why = wantsTls(said) ? `: ${tlsIsSpoken}` : "";
    throw new Error(`${url} answers with status ${status}${why}`);
  }
  return JSON.parse(await textOf(url, body));
}

/** A whole body. @throws Error if it is too large */
async function textOf(url: string, body: Body | null): Promise<string> {
  const whole = new Collected();
  // To leave the loop ends the answer.
  for await (const piece of body ?? []) {
    whole.add(piece);
    if (whole.length > answerLimit) throw new Error(`${url} answers with more than 1 MiB`);
  }
  return new TextDecoder().decode(whole.take());
}

type Body = AsyncIterable<Uint8Array> & { cancel(): Promise<void> };
