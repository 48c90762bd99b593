/** Names with a wildcard at the end. */

/** Whether a name is the pattern, or begins with it where the pattern ends in `*`. */
export function fits(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}
