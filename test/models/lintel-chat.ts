/** The embedded chat model behind a whole gateway, asked as a client asks it. */
import { afterAll, beforeAll } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { backendFor, trained } from "../backends/llama-subject.js";
import { type Lintel, startLintel } from "../support/lintel.js";

/** One message of a conversation. */
export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** What a test looks at. */
export interface Reply {
  readonly text: string;
  readonly finish: string;
  /** Tokens of the answer. */
  readonly tokens: number;
}

/** Asks `POST /llm`; greedy unless `parameters` say otherwise. */
export type Ask = (
  said: string | readonly Message[],
  parameters?: Record<string, unknown>,
) => Promise<Reply>;

/** The part of the answer's JSON that counts here. */
interface Body {
  readonly choices: readonly {
    readonly message: { readonly content: string };
    readonly finish_reason: string;
  }[];
  readonly usage: { readonly completion_tokens: number };
}

/** Starts the gateway for a test file and answers how to ask it. */
export function gateway(): Ask {
  let backend: Backend;
  let lintel: Lintel;
  beforeAll(async () => {
    backend = backendFor(trained);
    lintel = await startLintel([backend]);
  });
  afterAll(async () => {
    await lintel.close();
    await backend.close();
  });
  return async (said, parameters = {}) => {
    const messages = typeof said === "string" ? [{ role: "user", content: said }] : said;
    const response = await fetch(`${lintel.url}/llm`, {
      method: "POST",
      headers: { authorization: "Bearer test", "content-type": "application/json" },
      body: JSON.stringify({ messages, temperature: 0, ...parameters }),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    const { choices, usage } = (await response.json()) as Body;
    const [choice] = choices;
    if (!choice) throw new Error("no choice");
    return {
      text: choice.message.content,
      finish: choice.finish_reason,
      tokens: usage.completion_tokens,
    };
  };
}
