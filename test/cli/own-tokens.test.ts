/** `lintel own-tokens`, and what `lintel tokens` shows and ends of them. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { adminLines, secret as ops } from "../admin/gateway.js";
import { eachWithGateway } from "../oidc/making.js";
import { runHere } from "./here.js";

const corp = eachWithGateway();

async function signedIn() {
  const it = await corp.served("own_tokens: { max: 3, max_ttl: 10d }", adminLines());
  const jwt = await corp.issuer.sign({ sub: "ann" });
  return {
    ...it,
    jwt,
    own: (...args: string[]) =>
      runHere(["own-tokens", ...args, "--server", it.url, "--token", jwt]),
    ops: (...args: string[]) =>
      runHere(["tokens", ...args, "--server", it.url, "--admin-token", ops]),
    here: (...args: string[]) =>
      runHere(["tokens", ...args, "--config", join(it.cwd, "lintel.yaml")]),
  };
}

test("makes, lists and ends tokens", async () => {
  const { own, calls } = await signedIn();
  expect(await own("list")).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "you have no tokens\nyou may have 3, for up to 10d\n",
  });
  const made = await own("create", "--name", "laptop", "--expires", "1d");
  expect(made.code).toBe(0);
  expect(made.stdout).toMatch(/^lt_[\w-]{43}\n$/);
  expect(made.stderr).toMatch(
    /^laptop \(tok_[\w-]{12}\): the token is shown only now, and counts until \d{4}-\d\d-\d\dT\d\d:\d\dZ\n$/,
  );
  expect(await calls(made.stdout.trim())).toBe(200);
  const json = await own("create", "--name", "ci", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({
    token: { name: "ci" },
    secret: expect.stringMatching(/^lt_/),
  });
  const listed = await own("list");
  expect(listed.stdout).toMatch(/^NAME +ID +CREATED +EXPIRES\nlaptop +tok_.*Z +.*Z\nci +tok_/);
  expect(JSON.parse((await own("list", "--json")).stdout)).toMatchObject({
    tokens: [{ name: "laptop" }, { name: "ci" }],
    max_tokens: 3,
    max_ttl_seconds: 864_000,
  });
  expect((await own("revoke", "laptop")).stderr).toBe("laptop: revoked\n");
  expect(await calls(made.stdout.trim())).toBe(401);
  expect(await own("revoke", "laptop")).toMatchObject({
    code: 1,
    stderr: 'lintel: you have no token "laptop" that counts\n',
  });
});

test.each([
  [["create"], 2, "own-tokens create needs --name NAME"],
  [["create", "--name", "a", "--expires", "never"], 2, "--expires must be a date, a time"],
  [["create", "--name", "a", "--expires", "11d"], 1, "ttl_seconds: must be at most 864000 here"],
  [["create", "--name", "a", "--expires", "9000-01-01"], 1, "ttl_seconds: must be at most"],
])("%j is refused", async (args, code, words) => {
  const { own } = await signedIn();
  const refused = await own(...args);
  expect(refused.code).toBe(code);
  expect(refused.stderr).toContain(words);
});

test.each(["ops", "here"] as const)(
  "an operator sees whose they are, and ends them all: %s",
  async (where) => {
    const it = await signedIn();
    const operator = it[where];
    for (const name of ["laptop", "ci"]) await it.own("create", "--name", name);
    await it.make(await corp.issuer.sign({ sub: "bob" }), "laptop");
    const { stdout } = await operator("list");
    expect(stdout).toMatch(/^NAME .* EXPIRES +OWNER$/m);
    expect(stdout).toMatch(/^laptop +tok_.* corp:ann$/m);
    const owners = async () => {
      const { stdout } = await operator("list", "--json");
      return JSON.parse(stdout).map(({ owner }: { owner: string }) => owner);
    };
    expect(await owners()).toEqual(["corp:ann", "corp:ann", "corp:bob"]);
    const [first] = JSON.parse((await operator("list", "--owner", "corp:ann", "--json")).stdout);
    const refused = await operator("rotate", first.id);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("can only be revoked"),
    ]);
    const ended = await operator("revoke", "--owner", "corp:ann");
    expect(ended.stderr).toMatch(/^laptop: revoked; .*\nci: revoked; .*\n$/);
    expect(await owners()).toEqual(["corp:bob"]);
    expect((await operator("revoke", "--owner", "corp:ann")).stderr).toBe(
      "corp:ann has made no token that counts\n",
    );
    expect((await operator("revoke")).stderr).toContain("needs NAME or --owner CALLER");
  },
);
