/** A model server that thinks, asks for the weather, thinks again, and says what it was told. */
import type { Backend } from "../../src/core/backend.js";
import { against } from "../backends/openai-calls.js";
import { chunk } from "../backends/openai-subject.js";
import type { Script } from "../backends/upstream.js";

/** What it wants to see again of its first thoughts. */
const signed = {
  ...{ type: "reasoning.text", text: "I should look", signature: "sig-1", format: "f", index: 0 },
};

const call = {
  id: "c1",
  type: "function",
  function: { name: "weather", arguments: '{"city":"Rome"}' },
};

const usage = {
  ...{ prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
  completion_tokens_details: { reasoning_tokens: 3 },
};

/** Whole as DeepSeek and OpenRouter answer, streamed in pieces of a word. */
const thinks: Script = async (exchange) => {
  const { messages, stream } = exchange.json();
  const told = messages.at(-1).role === "tool" ? `It is ${messages.at(-1).content}` : undefined;
  const finish = told === undefined ? "tool_calls" : "stop";
  const said =
    told === undefined
      ? { text: "I should look", details: [signed], answer: { tool_calls: [call] } }
      : { text: "Now I know", details: [], answer: { content: told } };
  if (!stream) {
    const message = {
      ...{ role: "assistant", content: null, reasoning_content: said.text, ...said.answer },
      ...(said.details.length > 0 && { reasoning_details: said.details }),
    };
    const choices = [{ index: 0, message, finish_reason: finish }];
    await exchange.sendJson(200, { id: "1", created: 1, model: "m", choices, usage });
    return;
  }
  const pieces = said.text.split(/(?= )/).map((text) => chunk({ reasoning_content: text }));
  const details = said.details.map((detail) => chunk({ reasoning_details: [detail] }));
  const answer =
    told === undefined ? chunk({ tool_calls: [{ index: 0, ...call }] }) : chunk({ content: told });
  const end = [chunk({}, finish), { choices: [], usage }, "data: [DONE]\n\n"];
  await exchange.stream(chunk({ role: "assistant", content: "" }), ...pieces, ...details);
  await exchange.events(answer, ...end);
  await exchange.end();
};

/** A backend before such a server, with the model `chat-1`, and what the server was sent. */
export async function thinker(): Promise<{ backend: Backend; bodies(): { messages: object[] }[] }> {
  const { backend, bodies } = await against(thinks, { models: ["chat-1"] });
  return { backend, bodies };
}

/** What an assistant's message says of its first thoughts, once they came back to the server. */
export const toldThoughts = {
  ...{ role: "assistant", reasoning_content: "I should look", reasoning_details: [signed] },
  tool_calls: [call],
};
