/** Teams that are named and not known: a slip would lift their limits. */
import type { Config } from "./schema.js";
import { didYouMean } from "./suggest.js";

/** A line for each. Teams that claims of an OIDC issuer name are not known here. */
export function teamWarnings({ auth }: Config): string[] {
  const known = auth.teams.map(({ name }) => name);
  const named = [
    ...auth.tokens.map(({ team }, i) => ({ field: `auth.tokens[${i}].team`, team })),
    ...auth.oidc.flatMap(({ team, rules }, i) => [
      { field: `auth.oidc[${i}].team`, team },
      ...rules.map(({ team }, j) => ({ field: `auth.oidc[${i}].rules[${j}].team`, team })),
    ]),
  ];
  return named.flatMap(({ field, team }) =>
    team === undefined || known.includes(team) ? [] : [`${field}: ${unknownTeam(team, known)}`],
  );
}

/**
 * What a team is whose name is not known.
 * @param known names of `auth.teams`
 */
export const unknownTeam = (team: string, known: readonly string[]): string =>
  `no team of auth.teams is called ${JSON.stringify(team)}${didYouMean(team, known)}: only limits.team applies to it`;
