/** OpenRouter's clients, which look for more in an answer than OpenAI's do. */
import type { IncomingHttpHeaders } from "node:http";
import { isObject, type JsonObject } from "../../core/json.js";

/** Whether a request asks for thoughts in OpenRouter's words: its clients look for them in `reasoning`. */
export const asksAsOpenRouter = ({ reasoning, include_reasoning: include }: JsonObject): boolean =>
  include === true || isObject(reasoning);

/** Whether a request asks for counts in OpenRouter's words. */
export const asksForUsage = ({ usage }: JsonObject): boolean =>
  isObject(usage) && usage.include === true;

/** Whether a client is OpenRouter's own library, which takes no whole answer without a `system_fingerprint`. */
export const isOpenRouters = ({ "user-agent": agent }: IncomingHttpHeaders): boolean =>
  agent?.includes("openrouter") ?? false;
