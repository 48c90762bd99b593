/** Of whose messages a guard looks at the texts of a prompt. */
import type { Call } from "../call.js";
import { isConversation } from "../methods.js";
import type { Guard, GuardedRole } from "./guard.js";

/**
 * Whether a guard looks at what somebody says in the prompt of a call.
 * @param role author of the message; absent: it is from none, as tools are, which are the system's
 *   then, and prompts of images, which are the user's
 */
export function hears({ roles }: Guard, { method }: Call, role: string | undefined): boolean {
  if (roles === undefined) return true;
  const without = isConversation(method) ? "system" : "user";
  const author = role === "developer" ? "system" : (role ?? without);
  return roles.includes(author as GuardedRole);
}
