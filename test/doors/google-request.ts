/** Requests of Google's Gemini API, and what a backend is asked for them. */
import { asked as askedAt } from "./asked.js";

export const path = "/v1beta/models/chat-1:generateContent";
export const text = (said: string) => ({ text: said });
export const user = (...parts: object[]) => ({ role: "user", parts });
export const model = (...parts: object[]) => ({ role: "model", parts });
export const ask = (...contents: object[]) => ({ contents });
export const hello = (more: object = {}) => ({ ...ask(user(text("Hello"))), ...more });
export const config = (generationConfig: object) => hello({ generationConfig });

/** What a backend is asked. */
export const asked = (body: object) => askedAt(path, body);

export const messagesOf = async (body: object) => (await asked(body)).request.messages;
export const requestOf = async (body: object) => (await asked(body)).request;
