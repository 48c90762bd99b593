/** Backends for chat and their failures, for tests of the core. */
import { expect } from "vitest";
import type { LintelError } from "../../src/core/errors.js";
import { chatModel } from "../support/models.js";

/** What a backend for chat has. */
export const models = [chatModel("chat-1")];
/** An error, by its code. */
export const failure = (code: LintelError["code"]) => expect.objectContaining({ code });
