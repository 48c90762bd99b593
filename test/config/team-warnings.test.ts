/** Teams that are named and not known, or not looked at: what is said of them. */
import { expect, test } from "vitest";
import { warningsOf } from "../../src/config/warnings.js";
import { valid } from "./text.js";

const hash = `sha256:${"0".repeat(64)}`;
const prices = "prices: [{ model: m, output: 1 }]";

const said = (auth: string, rest = "") => warningsOf(valid(`auth:\n${auth}\n${prices}\n${rest}`));

test("a team that a token, an issuer or a rule names and nobody knows", () => {
  const oidc = `[{ name: corp, issuer: "https://a/", audience: x, team: rde, rules: [{ claim: c, value: v, team: blue }, { claim: c, value: w, team: red }] }]`;
  const auth = `  mode: token
  tokens: [{ name: a, hash: "${hash}", team: green }, { name: b, hash: "${hash.replace("0", "1")}", team: red }]
  oidc: ${oidc}
  teams: [{ name: red }]`;
  const only = "only limits.team applies to it";
  expect(said(auth)).toEqual([
    `auth.tokens[0].team: no team of auth.teams is called "green": ${only}`,
    `auth.oidc[0].team: no team of auth.teams is called "rde" (did you mean "red"?): ${only}`,
    `auth.oidc[0].rules[0].team: no team of auth.teams is called "blue": ${only}`,
  ]);
});

test("teams where no tokens are", () => {
  const limits = "limits: { team: { concurrent: 5 } }";
  expect(said("  mode: public\n  teams: [{ name: red }]", limits)).toEqual([
    "auth.teams are not looked at, because auth.mode is public",
    "limits.team limits nobody, because auth.mode is public",
  ]);
  expect(said("  mode: token", limits)).toEqual([]);
});

test.each([
  "auth: { mode: token, teams: [{ name: red, limits: { budget: { amount: 5 } } }] }",
  "auth: { mode: token }\nlimits: { team: { budget: { amount: 5 } } }",
])("a budget that nothing is spent of, and that a start forgets: %s", (text) => {
  const usage = "usage: { enabled: false }";
  expect(warningsOf(valid(`${text}\n${usage}`))).toEqual([
    "prices is empty: nothing has a price, and no budget is ever spent",
    expect.stringContaining("usage.enabled is false"),
  ]);
});
