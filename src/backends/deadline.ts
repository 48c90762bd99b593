/** What is left of a call's time, for servers that keep a deadline themselves. */
import type { Call } from "../core/call.js";
import type { MethodName } from "../core/methods.js";

/** Whole milliseconds until a call's deadline, at least 1; `undefined` where it has none. */
export const timeLeft = ({ deadline }: Call<MethodName>): number | undefined =>
  deadline === undefined ? undefined : Math.max(1, Math.ceil(deadline - performance.now()));
