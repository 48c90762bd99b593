/** What claims of a token say of its caller. */
import { describe, expect, test } from "vitest";
import { eachWithIssuer, who } from "./corp.js";

const corp = eachWithIssuer();
const { callersOf } = corp;

test("callers may call from the addresses of their rule, or else of their issuer", async () => {
  const callers = callersOf(`from: [10.0.0.0/8]
rules:
  - { claim: groups, value: guests, models: [small] }
  - { claim: groups, value: branch, from: [192.0.2.0/24] }`);
  const from = async (groups: string) => {
    const caller = await callers.find(await corp.issuer.sign({ groups }));
    return ["10.1.2.3", "192.0.2.1", undefined].map((address) => caller?.from?.has(address));
  };
  expect(await from("others")).toEqual([true, false, false]);
  expect(await from("guests")).toEqual([true, false, false]);
  expect(await from("branch")).toEqual([false, true, false]);
  const anywhere = await callersOf().find(await corp.issuer.sign());
  expect(anywhere).not.toHaveProperty("from");
});

describe("claims", () => {
  const mapping = `claims:
  id: email
  models: https://lintel.example/models
  team: lintel.team
  requests_per_minute: lintel.rpm
  concurrent: lintel.concurrent
rules:
  - { claim: realm.roles, value: admin, team: admins, limits: { requests_per_minute: unlimited } }
  - { claim: employee, value: "true", models: [large] }
  - { claim: department, value: Research and Art, models: [image-2] }
  - { claim: scope, value: images, models: [image-1], limits: { images_per_day: 5 } }
models: [small]
team: staff
limits: { requests_per_minute: 10, tokens_per_minute: 1000 }`;

  test.each<[string, Record<string, unknown>, unknown]>([
    [
      "what the issuer's callers get",
      {},
      {
        models: ["small"],
        team: "staff",
        limits: { requestsPerMinute: 10, tokensPerMinute: 1000 },
      },
    ],
    [
      "what they get also where there is no claim at the end of its way",
      { lintel: null, realm: "admin" },
      {
        models: ["small"],
        team: "staff",
        limits: { requestsPerMinute: 10, tokensPerMinute: 1000 },
      },
    ],
    [
      "claims before what is given to all",
      {
        "https://lintel.example/models": "a, b*, ",
        lintel: { rpm: 0, concurrent: "2", team: "red" },
      },
      {
        models: ["a", "b*"],
        team: "red",
        limits: { requestsPerMinute: 0, tokensPerMinute: 1000, concurrent: 2 },
      },
    ],
    [
      "a rule by one of several values",
      { realm: { roles: ["user", "admin"] } },
      { team: "admins", limits: { requestsPerMinute: Number.POSITIVE_INFINITY } },
    ],
    [
      "a team before that of the rule, also as a list of one",
      { realm: { roles: ["admin"] }, lintel: { team: ["red"] } },
      { team: "red", limits: { requestsPerMinute: Number.POSITIVE_INFINITY } },
    ],
    ["a rule by what is no text", { employee: true }, { models: ["large"] }],
    ["a rule by one of several that are none", { employee: [true] }, { models: ["large"] }],
    [
      "no rule by what is not so",
      { employee: false, scope: "images" },
      { models: ["image-1"], limits: { imagesPerDay: 5 } },
    ],
    [
      "a rule by a text with blanks in it",
      { department: "Research and Art" },
      { models: ["image-2"] },
    ],
    [
      "a rule by a scope, and no model at all by a claim",
      { scope: "openid images", "https://lintel.example/models": [] },
      { models: [], limits: { imagesPerDay: 5 } },
    ],
  ])("%s", async (_what, claims, expected) => {
    const token = await corp.issuer.sign({ email: "al@corp.example", ...claims });
    expect(await who(callersOf(mapping), token)).toEqual({
      id: "corp:al@corp.example",
      token: "corp",
      ...(expected as object),
    });
  });

  test.each([2 ** 63, "9223372036854775807", 1e300])(
    "a limit of %s, as of none, is one that stores can tell",
    async (rpm) => {
      const token = await corp.issuer.sign({ email: "a", lintel: { rpm } });
      expect(await who(callersOf(mapping), token)).toMatchObject({
        limits: { requestsPerMinute: Number.MAX_SAFE_INTEGER },
      });
    },
  );

  test("names are as long as they may be: of longer ones the end is another for each", async () => {
    const callers = callersOf("claims: { id: email, team: team }");
    const of = async (email: string, team: string) =>
      who(callers, await corp.issuer.sign({ email, team }));
    const longest = { id: "x".repeat(200 - "corp:".length), team: "t".repeat(200) };
    expect(await of(longest.id, longest.team)).toMatchObject({
      id: `corp:${longest.id}`,
      team: longest.team,
    });
    const cut = (letter: string) =>
      expect.stringMatching(new RegExp(`^${letter}{177}#[\\w-]{22}$`));
    const [one, other] = [await of("x", `${longest.team}1`), await of("x", `${longest.team}2`)];
    expect([one, other]).toMatchObject([{ team: cut("t") }, { team: cut("t") }]);
    expect(one).not.toEqual(other);
  });

  test("a caller's id may be a number, and has to be something", async () => {
    const callers = callersOf("claims: { id: uid }");
    const of = async (claims: Readonly<Record<string, unknown>>) =>
      who(callers, await corp.issuer.sign(claims));
    expect(await of({ uid: 42 })).toMatchObject({ id: "corp:42" });
    for (const claims of [{}, { uid: "" }, { uid: null }, { uid: ["a"] }]) {
      expect(await of(claims)).toBe(
        "invalid_token: the bearer token's claim uid must say who calls",
      );
    }
  });

  test("names on the way to a claim may have dots of their own", async () => {
    const callers = callersOf(`claims:
  id: kubernetes.io.serviceaccount.name
  team: kubernetes.io.namespace
  models: https://lintel.example/app.models
rules: [{ claim: resource_access.lintel.example.roles, value: admin, limits: { concurrent: 9 } }]`);
    const payload = {
      "kubernetes.io": { namespace: "red", serviceaccount: { name: "agent", uid: "1" } },
      "https://lintel.example/app": { models: ["small"] },
      resource_access: { lintel: { example: {} }, "lintel.example": { roles: ["admin"] } },
    };
    expect(await who(callers, await corp.issuer.sign(payload))).toEqual({
      id: "corp:agent",
      token: "corp",
      team: "red",
      models: ["small"],
      limits: { concurrent: 9 },
    });
  });

  test("an address that its issuer has not verified is nobody's, and no rule fits it", async () => {
    const boss = { email: "boss@corp.example" };
    const byEmail = callersOf("claims: { id: email }");
    for (const email_verified of [false, "false"]) {
      expect(await who(byEmail, await corp.issuer.sign({ ...boss, email_verified }))).toBe(
        "invalid_token: the bearer token's claim email says who calls, and its issuer has not verified it (email_verified)",
      );
    }
    // Some issuers do not say.
    for (const more of [{}, { email_verified: true }, { email_verified: "true" }]) {
      expect(await who(byEmail, await corp.issuer.sign({ ...boss, ...more }))).toMatchObject({
        id: "corp:boss@corp.example",
      });
    }
    const byRule = callersOf(
      `rules: [{ claim: email, value: boss@corp.example, models: [large] }]\nmodels: [small]`,
    );
    const of = async (email_verified: boolean) =>
      who(byRule, await corp.issuer.sign({ ...boss, email_verified }));
    expect(await of(false)).toMatchObject({ id: "corp:alice", models: ["small"] });
    expect(await of(true)).toMatchObject({ id: "corp:alice", models: ["large"] });
  });

  test("a claim that is not what it has to be lets nobody in", async () => {
    const sign = (claims: object) => corp.issuer.sign({ email: "a", ...claims });
    const callers = callersOf(mapping);
    for (const rpm of [-1, 1.5, "many", "", " ", null, {}]) {
      expect(await who(callers, await sign({ lintel: { rpm } }))).toBe(
        "invalid_token: the bearer token's claim lintel.rpm must be a whole number, 0 or more",
      );
    }
    for (const team of ["", null, 1, [1], ["a", 1], ["a", ""]]) {
      expect(await who(callers, await sign({ lintel: { team } }))).toBe(
        "invalid_token: the bearer token's claim lintel.team must be the name of one team",
      );
    }
    expect(await who(callers, await sign({ "https://lintel.example/models": [1] }))).toMatch(
      "must be a list of models",
    );
    expect(await who(callers, await sign({ "https://lintel.example/models": "a *b*" }))).toMatch(
      "must have at most one * in each model",
    );
  });

  describe("a claim that names several teams", () => {
    const teams = "teams: [{ name: Red Team }, { name: blue }, { name: green }]";
    const of = async (more: string, groups: unknown) =>
      who(
        callersOf(`claims: { team: groups }\n${more}`, undefined, undefined, { teams }),
        await corp.issuer.sign({ groups }),
      );

    test.each<[unknown, string]>([
      [["everyone", "green", "blue"], "blue"],
      [["green"], "green"],
      ["green, everyone,blue", "blue"],
      ["everyone green", "green"],
      ["Red Team", "Red Team"],
      [["blue", "Red Team"], "Red Team"],
      // One that is not known is named alone: it is one.
      ["everyone", "everyone"],
      [["everyone"], "everyone"],
      ["everyone, somebody", "everyone, somebody"],
    ])("%j: of those that are known the first one counts", async (groups, team) => {
      expect(await of("", groups)).toMatchObject({ team });
    });

    test.each([[["everyone", "somebody"]], [[]]])("%j, of which none is known", async (groups) => {
      expect(await of("", groups)).toBe(
        "invalid_token: the bearer token's claim groups names several teams, and none that is known here",
      );
      expect(await of("team: staff", groups)).toMatchObject({ team: "staff" });
      const rule = "rules: [{ claim: sub, value: alice, team: hers }]\nteam: staff";
      expect(await of(rule, groups)).toMatchObject({ team: "hers" });
    });
  });

  test.each(["admins,images", "admins, images", "admins images", "images"])(
    "a rule by one of several in a text: %s",
    async (roles) => {
      const callers = callersOf(`rules: [{ claim: roles, value: images, models: [image-1] }]`);
      expect(await who(callers, await corp.issuer.sign({ roles }))).toMatchObject({
        models: ["image-1"],
      });
    },
  );

  test("callers that no rule fits can be refused", async () => {
    const callers = callersOf(`rules: [{ claim: groups, value: ai }]\notherwise: refuse`);
    expect(await who(callers, await corp.issuer.sign({ groups: ["ai"] }))).toMatchObject({
      id: "corp:alice",
    });
    expect(await who(callers, await corp.issuer.sign({ groups: ["ais"] }))).toBe(
      "invalid_token: the bearer token's holder is not let in here",
    );
  });
});
