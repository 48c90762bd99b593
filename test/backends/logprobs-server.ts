import type { Backend } from "../../src/core/backend.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { hello } from "../support/routing.js";
import { tokensIn } from "../support/tokens.js";
import { chunk } from "./openai-subject.js";
import type { Script } from "./upstream.js";

export const methods = ["complete", "chat"] as const;
export const both = [["complete"], ["chat"]] as const;

/** A server that says "Hi!", in two pieces, with so much of each beside it, and all of it beside a whole answer. */
export const tells =
  (pieces: readonly (readonly [text: string, logprobs: unknown])[], all: unknown): Script =>
  async (exchange) => {
    const content = pieces.map(([text]) => text).join("");
    const end = { finish_reason: "stop", logprobs: null };
    if (!exchange.json().stream) {
      const message = { role: "assistant", content };
      const choices = [{ index: 0, message, ...end, logprobs: all }];
      return exchange.sendJson(200, { id: "1", created: 1, model: "m", choices });
    }
    const said = (delta: object, more: object) => ({
      ...chunk({}),
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
    });
    await exchange.stream(
      said({ role: "assistant", content: "" }, { logprobs: null }),
      ...pieces.map(([content, logprobs]) => said({ content }, { logprobs })),
      said({}, end),
      "data: [DONE]\n\n",
    );
    await exchange.end();
  };

export const ask = async (
  backend: Backend,
  method: (typeof methods)[number],
  more: object = {},
) => {
  const core = coreOf([backend]);
  return outcome(core, method, { ...hello, model: "m", logprobs: true, ...more });
};

/** Texts, logarithms, bytes where there are any, and others, of what was told. */
export const told = (messages: readonly object[]) =>
  tokensIn(messages).map(({ token, logprob, bytes, topLogprobs }) => [
    token,
    logprob,
    bytes && [...bytes],
    topLogprobs.map((top) => [top.token, top.logprob]),
  ]);

export const content = (...tokens: object[]) => ({ content: tokens, refusal: null });
export const hi = { token: "Hi", logprob: -0.5, bytes: [72, 105] };
export const bang = { token: "!", logprob: -1, bytes: [33] };
export const others = [
  { token: "Hi", logprob: -0.5, bytes: [72, 105] },
  { token: "Ho", logprob: -2, bytes: [72, 111] },
];
export const plain = [
  ["Hi", -0.5, undefined, []],
  ["!", -1, undefined, []],
];
export const usual = [
  ["Hi", -0.5, [72, 105], []],
  ["!", -1, [33], []],
];
