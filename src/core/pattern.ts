/** Patterns of names: one `*` in them stands for anything, a second one for itself. */

/** What the `*` of a pattern fits in a name; `undefined`: it does not fit, or the pattern has none. */
export function restOf(pattern: string, name: string): string | undefined {
  const star = pattern.indexOf("*");
  if (star < 0 || name.length < pattern.length - 1) return undefined;
  const after = pattern.slice(star + 1);
  if (!name.startsWith(pattern.slice(0, star)) || !name.endsWith(after)) return undefined;
  return name.slice(star, name.length - after.length);
}

/** Whether a name is the pattern, or what the pattern's `*` makes of it. */
export function fits(pattern: string, name: string): boolean {
  return pattern === name || restOf(pattern, name) !== undefined;
}

/** Whether there are names that fit both patterns. */
export function overlap(one: string, other: string): boolean {
  if (!one.includes("*")) return fits(other, one);
  if (!other.includes("*")) return fits(one, other);
  const [before, after] = cut(one);
  const [otherBefore, otherAfter] = cut(other);
  return (
    (before.startsWith(otherBefore) || otherBefore.startsWith(before)) &&
    (after.endsWith(otherAfter) || otherAfter.endsWith(after))
  );
}

/**
 * Tells of patterns whether `overlap` holds of one of many others. The many are looked through
 * once: there may be as many that are asked about.
 */
export function overlapsAny(many: readonly string[]): (pattern: string) => boolean {
  const all = new Set(many);
  if (all.has("*")) return () => true;
  const names = [...all].filter((one) => !one.includes("*"));
  const patterns = [...all].filter((one) => one.includes("*"));
  return (pattern) => {
    if (all.has(pattern) || patterns.some((one) => overlap(one, pattern))) return true;
    if (!pattern.includes("*")) return false;
    const [before, after] = cut(pattern);
    const least = before.length + after.length;
    return names.some(
      (name) => name.length >= least && name.startsWith(before) && name.endsWith(after),
    );
  };
}

/** What stands before the `*` of a pattern, and after it. */
function cut(pattern: string): [string, string] {
  const star = pattern.indexOf("*");
  return [pattern.slice(0, star), pattern.slice(star + 1)];
}

/** Number of `*` in a text; a pattern has at most one. */
export const stars = (text: string): number => text.split("*").length - 1;
