/** One chat as clients of each door over HTTP/1 write it; `-sse`: streamed. */

const system = "You answer in one sentence.";
const question = "What is a lintel, and what does it do in a wall?";
const model = "bench";
const messages = [
  { role: "system", content: system },
  { role: "user", content: question },
];
const asked = [{ role: "user", content: question }];
const contents = [{ role: "user", parts: [{ text: question }] }];
const gemini = {
  systemInstruction: { parts: [{ text: system }] },
  contents,
  generationConfig: { maxOutputTokens: 64 },
};
const chat = { model, messages, max_tokens: 64 };
const claude = { model, system, messages: asked, max_tokens: 64 };
const response = { model, instructions: system, input: asked, max_output_tokens: 64 };

const requests = {
  rest: ["/llm", chat],
  "rest-sse": ["/llm", { ...chat, stream: true }],
  responses: ["/v1/responses", response],
  "responses-sse": ["/v1/responses", { ...response, stream: true }],
  anthropic: ["/v1/messages", claude],
  "anthropic-sse": ["/v1/messages", { ...claude, stream: true }],
  google: [`/v1/models/${model}:generateContent`, gemini],
  "google-sse": [`/v1/models/${model}:streamGenerateContent?alt=sse`, gemini],
  connect: ["/lintel.v1.ChatService/Complete", chat],
} as const;

/** A door, and how it is to answer. */
export type DoorKind = keyof typeof requests;

/** @returns `undefined` for what is no door's */
export function doorRequest(kind: string) {
  const request = Object.hasOwn(requests, kind) ? requests[kind as DoorKind] : undefined;
  return request && { path: request[0], body: JSON.stringify(request[1]) };
}
