/** Requests of Anthropic's Messages API, and what a backend is asked for them. */
import { asked as askedAt } from "./asked.js";

export const path = "/v1/messages";
export const text = (said: string) => ({ type: "text", text: said });
export const ask = (...messages: object[]) => ({ model: "chat-1", max_tokens: 100, messages });
export const hello = (more: object = {}) => ({
  ...ask({ role: "user", content: "Hello" }),
  ...more,
});

/** What a backend is asked. */
export const asked = (body: object | string) => askedAt(path, body);

export const messagesOf = async (body: object) => (await asked(body)).request.messages;
