/** Calls for chat, for tests of the core. */
import { expect } from "vitest";
import type { LintelError } from "../../src/core/errors.js";
import { chatModel } from "../support/models.js";

/** A request for chat. */
export const hello = { messages: [{ role: "user", content: "Hello" }] };
/** What a backend for it has. */
export const models = [chatModel("chat-1")];
/** An error, by its code. */
export const failure = (code: LintelError["code"]) => expect.objectContaining({ code });
