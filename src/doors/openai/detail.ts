/** How closely OpenAI's clients have images looked at, by the contract's words. */

/**
 * The contract's word.
 * @param field where messages stand at the client
 * @param warnings gets a line where there is none, and the closest is taken
 */
export function detailOf(detail: unknown, field: string, warnings: Set<string>): unknown {
  if (detail !== "original") return detail;
  warnings.add(`${field}: the detail original of images is not supported, high in its place`);
  return "high";
}
