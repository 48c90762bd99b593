/** Mistakes in tokens, issuers and limits. */
import { describe, expect, test } from "vitest";
import { expectMistakes, type Mistake, valid } from "./text.js";

const hash = `sha256:${"ab".repeat(32)}`;

describe("mistakes in who may administer", () => {
  const tokens = (more: string) => `admin:\n  tokens:\n    - { name: a, hash: "${hash}" }\n${more}`;
  test.each<Mistake>([
    ["nobody", "admin: { tokens: [] }", ["admin.tokens: must have at least one"]],
    ["no tokens", "admin: {}", ["admin.tokens: is required"]],
    [
      "a token itself instead of its hash",
      "admin: { tokens: [{ name: a, hash: lt_secret }] }",
      ['as "lintel tokens create --yaml --admin" prints it'],
    ],
    [
      "a token twice, and a name",
      tokens(`    - { name: a, hash: "${hash.toUpperCase().replace("SHA", "sha")}" }\n`),
      [
        "admin.tokens[1].name: is the same as that of admin.tokens[0]; must be unique",
        "admin.tokens[1].hash: is the same as that of admin.tokens[0]; must be unique",
      ],
    ],
    [
      "no hash, as a caller's",
      "admin: { tokens: [{ name: a }] }\nauth: { mode: token, tokens: [{ name: b }] }\n",
      [
        "lintel.yaml:1:19: admin.tokens[0].hash: is required",
        "lintel.yaml:2:31: auth.tokens[0].hash: is required",
      ],
    ],
    [
      "a caller's token",
      `${tokens("")}auth: { mode: token, tokens: [{ name: b, hash: "${hash.toUpperCase().replace("SHA", "sha")}" }] }\n`,
      [
        "admin.tokens[0].hash: is the same as that of auth.tokens[0]; an administrator's token opens nothing else",
      ],
    ],
    [
      "a socket whose whole path no system takes",
      tokens(`  listen: ["127.0.0.1:9090", "unix:${"a".repeat(110)}"]\n`),
      ["lintel.yaml:4:30: admin.listen[1]: must lead to a socket whose whole path has at most"],
    ],
    [
      "addresses that can't be listened on together",
      tokens('  listen: ["127.0.0.1:9090", ":9090"]\n'),
      [
        "admin.listen[1]: can't be listened on beside admin.listen[0]: one of them takes every address",
      ],
    ],
  ])("%s", expectMistakes);
});

describe("mistakes in how people sign in", () => {
  const signIn = (...entries: string[]) =>
    `auth:\n  mode: token\n  oidc:\n    - { name: corp, issuer: "https://a", audience: l }\n    - { name: ms, issuer: "https://b/{tenantid}", audience: l, tenants: [x, y] }\nconsole:\n  sign_in:\n${entries.map((entry) => `    - { ${entry} }\n`).join("")}`;

  test.each<Mistake>([
    [
      "neither a switch nor a mapping",
      "console: yes please\n",
      ["lintel.yaml:1:10: console: must be true, false, or a mapping with sign_in"],
    ],
    [
      "an issuer that there is none of",
      signIn("name: A, issuer: crop, client_id: c"),
      ['console.sign_in[0].issuer: is no issuer of auth.oidc (did you mean "corp"?)'],
    ],
    [
      "one button twice",
      signIn("name: A, issuer: corp, client_id: c", "name: A, issuer: corp, client_id: d"),
      ["console.sign_in[1].name: is the same as that of console.sign_in[0]; must be unique"],
    ],
    [
      "no tenant, and one that there is none of",
      signIn("name: A, issuer: ms, client_id: c", "name: B, issuer: ms, tenant: z, client_id: c"),
      [
        "console.sign_in[0].tenant: is required: auth.oidc[1] has several tenants",
        "console.sign_in[1].tenant: is no tenant of auth.oidc[1]",
      ],
    ],
    [
      "an id token that opens nothing",
      signIn("name: A, issuer: corp, client_id: c, token: id_token"),
      [
        'console.sign_in[0].token: is id_token, whose aud is the client_id: auth.oidc[0].audience must have "c"',
      ],
    ],
    [
      "scopes without openid, two in one, and what is said already",
      signIn(
        "name: A, issuer: corp, client_id: c, scopes: [email]",
        'name: B, issuer: corp, client_id: c, scopes: [openid, "a b"]',
        "name: C, issuer: corp, client_id: c, parameters: { state: s }",
        'name: D, issuer: corp, client_id: c, resource: "a b"',
      ),
      [
        "console.sign_in[0].scopes: must have openid among them",
        "console.sign_in[1].scopes[1]: must be one scope, with no blanks and no quotes",
        "console.sign_in[2].parameters: must have none of client_id, ",
        "console.sign_in[3].resource: must be an address",
      ],
    ],
  ])("%s", expectMistakes);
});

describe("mistakes in who may call", () => {
  test.each<Mistake>([
    [
      "tokens of callers' own that are none, or count too briefly or too long",
      `auth:\n  oidc:\n    - { name: a, issuer: "https://a", audience: l, own_tokens: { max: 0, max_ttl: 59s } }\n    - { name: b, issuer: "https://b", audience: l, own_tokens: { max: 1001, max_ttl: 367d, max_per_day: 0, more: 1 } }\n`,
      [
        "lintel.yaml:3:71: auth.oidc[0].own_tokens.max: must be at least 1",
        "lintel.yaml:3:83: auth.oidc[0].own_tokens.max_ttl: must be from 1m to 366d",
        "auth.oidc[1].own_tokens.max: must be at most 1000",
        "auth.oidc[1].own_tokens.max_ttl: must be from 1m to 366d",
        "auth.oidc[1].own_tokens.max_per_day: must be at least 1",
        "auth.oidc[1].own_tokens.more: ",
      ],
    ],
    [
      "an issuer's address twice",
      `auth:\n  oidc:\n    - { name: a, issuer: "https://a", audience: l }\n    - { name: b, issuer: "https://a", audience: l }\n`,
      [
        "lintel.yaml:4:26: auth.oidc[1].issuer: is the same as that of auth.oidc[0]; must be unique",
      ],
    ],
    [
      "tenants without a place for them, and a place without tenants",
      `auth:\n  oidc:\n    - { name: a, issuer: "https://a/v2", audience: l, tenants: [x] }\n    - { name: b, issuer: "https://b/{tenantid}", audience: l }\n    - { name: c, issuer: "https://c/{tenantId}", audience: l, tenants: [x] }\n`,
      [
        "lintel.yaml:3:64: auth.oidc[0].tenants: is for an issuer with {tenantid} in its address, such as https://login.microsoftonline.com/{tenantid}/v2.0",
        "lintel.yaml:4:26: auth.oidc[1].issuer: has {tenantid}; auth.oidc[1].tenants must say who may stand there",
        "lintel.yaml:5:26: auth.oidc[2].issuer: knows only {tenantid} in braces",
      ],
    ],
    [
      "tenants that are none, or come twice",
      `auth:\n  oidc:\n    - { name: a, issuer: "https://a/{tenantid}", audience: l, tenants: [x, y, x, "a/b"] }\n    - { name: b, issuer: "https://a/y", audience: l }\n    - { name: c, issuer: "https://c/{tenantid}", audience: l, tenants: [] }\n`,
      [
        "lintel.yaml:3:79: auth.oidc[0].tenants[2]: is the same as one before it; must be unique",
        "lintel.yaml:3:82: auth.oidc[0].tenants[3]: must be letters, digits, - and . alone",
        "lintel.yaml:4:26: auth.oidc[1].issuer: is the same as that of auth.oidc[0]; must be unique",
        "lintel.yaml:5:72: auth.oidc[2].tenants: must not be empty",
      ],
    ],
    [
      "a fragment in the address of keys, and a hash twice in other letters",
      `auth:\n  tokens:\n    - { name: a, hash: "${hash}" }\n    - { name: b, hash: "${hash.replace(/ab/g, "AB")}" }\n  oidc: [{ name: c, issuer: "https://a", audience: l, jwks_url: "https://a/keys?p=1#x" }]\n`,
      [
        "lintel.yaml:4:24: auth.tokens[1].hash: is the same as that of auth.tokens[0]; must be unique",
        "lintel.yaml:5:65: auth.oidc[0].jwks_url: must have no fragment",
      ],
    ],
    [
      "addresses that are none, none at all, and too many",
      `auth:\n  tokens:\n    - { name: a, hash: "${hash}", from: [10.0.0.0/8, "10.0.0.0/33", here] }\n    - { name: b, hash: "${hash.replace(/ab/g, "cd")}", from: [] }\n`,
      [
        "lintel.yaml:3:118: auth.tokens[0].from[1]: must be an address or a network of IPv4 or IPv6, such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32",
        "lintel.yaml:3:133: auth.tokens[0].from[2]: must be an address",
        "lintel.yaml:4:105: auth.tokens[1].from: must not be empty",
      ],
    ],
    [
      "a day that its month has not",
      `auth: { tokens: [{ name: a, hash: "${hash}", expires: 2027-02-31 }] }`,
      ["auth.tokens[0].expires: must be a date or a time"],
    ],
    [
      "an issuer's name twice, and a token that is called like its callers",
      `auth:\n  mode: token\n  tokens: [{ name: "corp:al", hash: "${hash}" }]\n  oidc:\n    - { name: corp, issuer: "https://a", audience: l }\n    - { name: corp, issuer: "https://b", audience: l }\n`,
      [
        'lintel.yaml:3:20: auth.tokens[0].name: begins like the callers of the issuer "corp"; must be told apart from them',
        "lintel.yaml:6:15: auth.oidc[1].name: is the same as that of auth.oidc[0]; must be unique",
      ],
    ],
    [
      "a team's name twice",
      "auth: { teams: [{ name: red }, { name: blue }, { name: red }] }\n",
      [
        "lintel.yaml:1:56: auth.teams[2].name: is the same as that of auth.teams[0]; must be unique",
      ],
    ],
    [
      "an algorithm that needs no key, and one whose key is a secret",
      `auth:\n  oidc:\n    - name: corp\n      issuer: https://a\n      audience: l\n      algorithms: [none, HS256]\n`,
      [
        "lintel.yaml:6:20: auth.oidc[0].algorithms[0]: must be one of RS256",
        'lintel.yaml:6:26: auth.oidc[0].algorithms[1]: must be one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA or Ed25519 (did you mean "RS256"?)',
      ],
    ],
    [
      "limits and times of a token",
      `auth:\n  mode: token\n  tokens:\n    - name: a\n      hash: "${hash}"\n      limits: { requests_per_minute: lots, budget: { amount: -1 } }\n      expires: soon\n`,
      [
        "lintel.yaml:6:38: auth.tokens[0].limits.requests_per_minute: must be a whole number, 0 or more, or unlimited",
        "lintel.yaml:6:62: auth.tokens[0].limits.budget.amount: must be at least 0",
        "lintel.yaml:7:16: auth.tokens[0].expires: must be a date or a time such as 2027-01-31 or 2027-01-31T18:00:00Z",
      ],
    ],
    [
      "a token itself instead of its hash",
      "auth:\n  mode: token\n  tokens: [{ name: a, hash: lt_secret }]\n",
      [
        'lintel.yaml:3:29: auth.tokens[0].hash: must be "sha256:" and 64 hex digits, as "lintel tokens create --yaml" prints it',
      ],
    ],
    [
      "a token's name twice",
      `auth:\n  mode: token\n  tokens:\n    - { name: a, hash: "${hash}" }\n    - { name: a, hash: "sha256:${"cd".repeat(32)}" }\n`,
      [
        "lintel.yaml:5:15: auth.tokens[1].name: is the same as that of auth.tokens[0]; must be unique",
      ],
    ],
  ])("%s", expectMistakes);
});

test("a token's name may begin as an issuer's, unless it is called like its callers", () => {
  const issuer = '{ name: corp, issuer: "https://a", audience: l }';
  const tokens = `[{ name: corporate, hash: "${hash}" }]`;
  const { auth } = valid(`auth:\n  mode: token\n  oidc: [${issuer}]\n  tokens: ${tokens}\n`);
  expect(auth.tokens.map(({ name }) => name)).toEqual(["corporate"]);
});
