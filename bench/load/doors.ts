/** One chat as clients of each door over HTTP/1 write it; `-sse`: streamed, `agent`: with a long conversation. */
import { chatBody, question, system } from "../contestants/contestant.js";
import { agentChat, agentMessages, agentResponses } from "./agent.js";

const model = "bench";
const messages = [{ role: "user", content: question }];
const claude = { model, system, messages, max_tokens: 64 };
const response = { model, instructions: system, input: messages, max_output_tokens: 64 };
const gemini = JSON.stringify({
  systemInstruction: { parts: [{ text: system }] },
  contents: [{ role: "user", parts: [{ text: question }] }],
  generationConfig: { maxOutputTokens: 64 },
});

const requests = {
  rest: ["/llm", chatBody(model, false)],
  "rest-sse": ["/llm", chatBody(model, true)],
  responses: ["/v1/responses", JSON.stringify(response)],
  "responses-sse": ["/v1/responses", JSON.stringify({ ...response, stream: true })],
  anthropic: ["/v1/messages", JSON.stringify(claude)],
  "anthropic-sse": ["/v1/messages", JSON.stringify({ ...claude, stream: true })],
  google: [`/v1/models/${model}:generateContent`, gemini],
  "google-sse": [`/v1/models/${model}:streamGenerateContent?alt=sse`, gemini],
  connect: ["/lintel.v1.ChatService/Complete", chatBody(model, false)],
  agent: ["/v1/chat/completions", agentChat(model)],
  "agent-anthropic": ["/v1/messages", agentMessages(model)],
  "agent-responses": ["/v1/responses", agentResponses(model)],
} as const;

/** A door, and how it is to answer. */
export type DoorKind = keyof typeof requests;

/** @returns `undefined` for what is no door's */
export function doorRequest(kind: string) {
  const request = Object.hasOwn(requests, kind) ? requests[kind as DoorKind] : undefined;
  return request && { path: request[0], body: request[1] };
}
