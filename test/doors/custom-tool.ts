/** A custom tool in either of OpenAI's APIs, and requests that offer it. */
import { expect } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { says, scripted } from "../support/scripted.js";
import { hello, serve } from "./serve.js";

const chat = "/v1/chat/completions";
const responses = "/v1/responses";

/** The text of a call. */
export const patch = '*** Begin Patch\n+\t"a" 😀\n';

/** The same, as arguments of a function. */
export const args = JSON.stringify({ input: patch });

/** A tool as each API has it, and a function beside it. @param grammar as chat completions have it */
export const offerOf = {
  [chat]: (grammar?: object) => ({
    ...hello(),
    tools: [
      { type: "function", function: { name: "weather" } },
      {
        type: "custom",
        custom: {
          ...{ name: "patch", description: "Edits files." },
          ...(grammar && { format: { type: "grammar", grammar } }),
        },
      },
    ],
  }),
  [responses]: (grammar?: object) => ({
    input: "Hello",
    tools: [
      { type: "function", name: "weather" },
      {
        ...{ type: "custom", name: "patch", description: "Edits files." },
        ...(grammar && { format: { type: "grammar", ...grammar } }),
      },
    ],
  }),
};

/** Answers a request, which has to be one that can be. */
export async function ask(path: string, body: object, handle: Handle<"chat"> = says("Hi")) {
  const backend = scripted({ chat: handle });
  const answer = await (await serve(backend)).post(path, body);
  expect(answer.status).toBe(200);
  return { asked: backend.asked[0], answer };
}
