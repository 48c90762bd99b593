/**
 * Gives completions their contract's shape, whatever a backend sent: one id, one
 * name, one choice, a last message that says why it ended, and token counts.
 */
import type { Middleware } from "../call.js";
import { iterable } from "../iterate.js";
import { isChat } from "../methods.js";
import type { Batch } from "./shaped.js";
import { Stream } from "./stream.js";
import { Whole } from "./whole.js";

/** Shapes the messages of `chat` and `complete`; other methods pass. */
export const completion: Middleware = (next) => (call) => {
  const { method } = call;
  if (!isChat(method)) return next(call);
  return iterable(() => {
    const source = next(call)[Symbol.asyncIterator]() as AsyncIterator<Batch>;
    return method === "chat" ? new Stream(call, source) : new Whole(call, source);
  });
};
