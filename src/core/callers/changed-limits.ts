/** Own limits with what is changed of them. */
import type { OwnLimits } from "../limits/settings.js";
import type { LimitChanges } from "./registry.js";

/**
 * Changes limits one by one, those of end users, too; `null` takes one away.
 * @returns `undefined` if none is left
 */
export function changedLimits(
  limits: OwnLimits | undefined,
  { user, ...own }: LimitChanges = {},
): OwnLimits | undefined {
  return oneByOne(limits, { ...own, user: user && (oneByOne(limits?.user, user) ?? null) });
}

function oneByOne(limits: OwnLimits | undefined, changes: object): OwnLimits | undefined {
  const told = Object.entries(changes).filter(([, limit]) => limit !== undefined);
  const left = Object.entries({ ...limits, ...Object.fromEntries(told) }).filter(
    ([, limit]) => limit !== null,
  );
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}
