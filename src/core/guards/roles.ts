/** Of whose messages guards look at the texts of a prompt, and of which. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { isConversation } from "../methods.js";
import type { Guard, GuardedRole } from "./guard.js";

/** Whose a part of a prompt is. */
export interface Said {
  /** Author of its message; absent: it is of none, as tools are, which are the system's then, and prompts of images, which are the user's. */
  readonly role?: string | undefined;
  /** Place of its message; absent: likewise. */
  readonly message?: number | undefined;
}

/** Whether a guard looks at a part of the prompt of a call. */
export type Hears = (guard: Guard, said: Said) => boolean;

/** What guards look at in the prompt of a call. */
export function hearing({ method, request }: Call): Hears {
  const ofConversation = isConversation(method);
  const without = ofConversation ? "system" : "user";
  let from: number | undefined;
  return ({ roles, messages = "all" }, { role, message = 0 }) => {
    if (messages === "last_turn" && ofConversation) {
      from ??= lastTurn((request as LLMRequest).messages);
      if (message < from) return false;
    }
    if (roles === undefined) return true;
    const author = role === "developer" ? "system" : (role ?? without);
    return roles.includes(author as GuardedRole);
  };
}

/**
 * Where the last turn of a conversation begins: behind the last answer of the model that somebody said
 * something to. What the model is to go on with, at the end, is of the turn, and orders answer nothing.
 */
function lastTurn(messages: readonly { readonly role: string }[]): number {
  const said = messages.findLastIndex(({ role }) => role === "user" || role === "tool");
  return messages.slice(0, Math.max(said, 0)).findLastIndex(({ role }) => role === "assistant") + 1;
}
