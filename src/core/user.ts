/** Whom a caller asks for. */
import type { Call } from "./call.js";

/** Notes down whom a call is for, where its request names somebody; what it names is to be well formed. */
export function noteUser({ request, attributes }: Call): void {
  if ("user" in request && request.user) attributes.user = request.user;
}
