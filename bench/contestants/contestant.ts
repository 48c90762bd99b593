/** One of those who are measured. */
import type { Cores, Pinned } from "../cores.js";

/** What scenarios know of a contestant. */
export interface Contestant {
  readonly name: string;
  /** With its version and settings, for the report. */
  readonly about: string;
  /** Why it can't take part; absent: it can. */
  readonly missing?: string | undefined;
  /** Sent as bearer token. */
  readonly token: string;
  /** Sent with every request, besides. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where it takes chats. Default: /v1/chat/completions. */
  readonly path?: string;
  /** Whether it passes images on. */
  readonly images: boolean;
  /** Starts it in front of the model server. */
  start(port: number, upstream: number, folder: string, build?: Build): Pinned;
}

/** What runs, where it is not what runs everywhere. */
export interface Build {
  /** The script, for Lintel its `main.js`. Default: that of this checkout, or `LINTEL_MAIN`. */
  readonly main?: string | undefined;
  /** Options of Node, before those of `BENCH_NODE_OPTIONS`. */
  readonly options?: readonly string[];
  /** Default: the gateway's. */
  readonly core?: Cores;
  /** More of its configuration, in the place of what it has under the same names. */
  readonly config?: object;
}

/** Resolves once a chat is answered. @throws Error if that takes longer than a minute */
export async function answering(contestant: Contestant, port: number): Promise<void> {
  const until = Date.now() + 60_000;
  let last: unknown;
  while (Date.now() < until) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}${pathOf(contestant)}`, {
        method: "POST",
        headers: headersOf(contestant),
        body: chatBody("bench", false),
      });
      const text = await response.text();
      if (response.status === 200) return;
      last = `${response.status} ${text}`;
    } catch (thrown) {
      last = thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${contestant.name} does not answer: ${last}`);
}

export const pathOf = ({ path = "/v1/chat/completions" }: Contestant): string => path;

export const headersOf = ({ token, headers }: Contestant): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  "content-type": "application/json",
  ...headers,
});

/** What chats begin with: a system's word and a question. */
export const system = "You answer in one sentence.";
export const question = "What is a lintel, and what does it do in a wall?";

/** A request of these. */
export function chatBody(model: string, stream: boolean): string {
  return JSON.stringify({
    model,
    messages: [
      { role: "system", content: system },
      { role: "user", content: question },
    ],
    max_tokens: 64,
    ...(stream && { stream: true }),
  });
}
