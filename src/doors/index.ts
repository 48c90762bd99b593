/** The ways in, one line each. */
import { anthropic } from "./anthropic/door.js";
import type { Door } from "./door.js";
import { google } from "./google/door.js";
import { media } from "./media.js";
import { openai } from "./openai/door.js";
import { operations } from "./operations.js";
import { rest } from "./rest/door.js";
import { rpc } from "./rpc/rpc.js";

/** Every door that each gateway has; those that may be off: src/gateway.ts. */
export const doors: readonly Door[] = [rest, openai, anthropic, google, rpc, media, operations];
