// biome-ignore-all lint/suspicious/noTemplateCurlyInString: names may have it
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { openSqlite } from "../../src/state/database/sqlite-library.js";
import { valid } from "../config/text.js";
import { runHere } from "./here.js";
import { build, folder, run, start } from "./lintel.js";

beforeAll(build);

const sha256 = (token: string) => `sha256:${createHash("sha256").update(token).digest("hex")}`;

test("--yaml: a token is shown once, and its lines are a configuration that knows it by hash", async () => {
  const limits = ["--rpm", "60", "--concurrent", "0", "--budget", "unlimited/day"];
  const rest = ["--models", "a, image-*", "--expires", "2099-01-31", ...limits];
  const { code, stdout } = await runHere([
    "tokens",
    "create",
    "--yaml",
    "--name",
    "yes: #1",
    ...rest,
  ]);
  expect(code).toBe(0);
  const [token = "", ...lines] = stdout.split("\n");
  expect(token).toMatch(/^lt_[\w-]{43}$/);
  const yaml = lines.join("\n");
  expect(yaml).not.toContain(token);
  expect(valid(yaml.slice(yaml.indexOf("auth:"))).auth.tokens).toEqual([
    {
      name: "yes: #1",
      hash: sha256(token),
      models: ["a", "image-*"],
      limits: {
        requests_per_minute: 60,
        concurrent: 0,
        budget: { amount: Number.POSITIVE_INFINITY, period: "day" },
      },
      expires: Date.UTC(2099, 0, 31),
    },
  ]);
});

test("--yaml: a name with a variable's form is that name", async () => {
  expect(await nameOf("a${X}$${Y}")).toBe("a${X}$${Y}");
});

test("a name may be long, and is one without blanks around it", async () => {
  expect(await nameOf(` ${"x".repeat(128)} `)).toBe("x".repeat(128));
});

test("--yaml: a token that never expires has no time", async () => {
  expect(await written("--name", "a", "--expires", "never")).not.toHaveProperty("expires");
});

/** The token that the lines for a configuration have. */
async function written(...options: string[]) {
  const { stdout } = await runHere(["tokens", "create", "--yaml", ...options]);
  return valid(stdout.slice(stdout.indexOf("auth:"))).auth.tokens[0];
}

const nameOf = async (name: string) => (await written("--name", name))?.name;

test("--yaml and --json together are refused, and nothing is stored", async () => {
  const cwd = folder();
  const database = ["--database", join(cwd, "tokens.db")];
  const both = await runHere(["tokens", "create", "--name", "a", "--yaml", "--json", ...database]);
  expect(both).toMatchObject({ code: 2, stdout: "" });
  expect(both.stderr).toContain("--yaml and --json");
  expect(readdirSync(cwd)).toEqual([]);
});

test("--yaml is not for a gateway, which would not have the token", async () => {
  const server = ["--server", "http://127.0.0.1:9", "--admin-token", "a"];
  const there = await runHere(["tokens", "create", "--name", "a", "--yaml", ...server]);
  expect(there).toMatchObject({ code: 2, stdout: "" });
  expect(there.stderr).toContain("--yaml stores nothing: leave out --server");
});

test("a token that nobody reads is made all the same, and 1 says so", async () => {
  const cwd = folder();
  for (const args of [["create", "--name"], ["rotate"]]) {
    const lintel = start(["tokens", ...args, "alice"], cwd);
    lintel.unread();
    expect(await lintel.ended).toEqual({ code: 1, signal: null });
    // Not that it is shown, either.
    expect(lintel.stderr).toMatch(
      /^(?!.*shown only now).*lintel: the output can't be written \(EPIPE\); the token counts, and was not shown: revoke or rotate it\n$/s,
    );
  }
});

test("create, list, rotate and revoke; the token is in nothing that is kept", async () => {
  const cwd = folder({ "lintel.yaml": "auth: { mode: token }\nstate: { directory: state }\n" });
  const config = ["--config", join(cwd, "lintel.yaml")];
  const tokens = (...args: string[]) => runHere(["tokens", ...args, ...config]);
  const limits = ["--rpm", "60", "--tpm", "unlimited", "--images-per-day", "5", "--budget", "2.5"];
  const alice = ["tokens", "create", "--name", "alice", "--models", "a,b*"];
  const made = await run([...alice, ...limits], cwd);
  expect(made.code).toBe(0);
  expect(made.stdout).toMatch(/^lt_[\w-]{43}\n$/);
  expect(made.stderr).toMatch(/^alice \(tok_[\w-]{12}\): the token is shown only now\n$/);
  const json = await tokens("create", "--name", "bob", "--expires", "90d", "--json");
  expect(json.stderr).toBe("");
  const bob = JSON.parse(json.stdout) as { id: string; name: string; token: string };
  expect(bob).toMatchObject({ name: "bob", token: expect.stringMatching(/^lt_/) });
  expect(await tokens("create", "--name", "bob")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: 'lintel: a token is called "bob" already\n',
  });

  const list = JSON.parse((await tokens("list", "--json")).stdout) as object[];
  expect(list).toEqual([
    expect.objectContaining({
      name: "alice",
      state: "active",
      models: ["a", "b*"],
      limits: {
        requests_per_minute: 60,
        tokens_per_minute: "unlimited",
        images_per_day: 5,
        budget: { amount: 2.5, period: "month" },
      },
      created: expect.stringMatching(/^\d{4}-/),
      expires: null,
    }),
    expect.objectContaining({ id: bob.id, models: null, limits: null, revoked: null }),
  ]);

  const rotated = await tokens("rotate", "bob", "--grace", "1h");
  expect(rotated.stdout).toMatch(/^lt_/);
  expect(rotated.stdout.trim()).not.toBe(bob.token);
  const shown = await tokens("list");
  expect(shown.stdout).toMatch(/^NAME +ID +STATE +TEAM +MODELS +LIMITS +CREATED +EXPIRES\nalice /);
  expect(shown.stdout).toMatch(/^bob +tok_\S+ +active, two tokens +all /m);

  const revoked = await tokens("revoke", bob.id);
  expect(revoked).toEqual({
    code: 0,
    stdout: "",
    stderr: "bob: revoked; every gateway refuses it within 5 s\n",
  });
  expect(await tokens("revoke", "bob")).toMatchObject({
    code: 1,
    stderr: 'lintel: there is no token "bob" that counts\n',
  });
  expect((await tokens("list")).stdout).not.toContain("bob");
  expect((await tokens("list", "--all")).stdout).toMatch(
    /^alice +tok_\S+ +active .*\nbob +tok_\S+ +revoked /m,
  );

  // Not in the clear, not anywhere: neither the old ones nor the new one.
  const state = join(cwd, "state");
  // Whoever leaves the database closes it: it is one file then.
  expect(readdirSync(state)).toEqual(["lintel.db"]);
  const bytes = Buffer.concat(readdirSync(state).map((name) => readFileSync(join(state, name))));
  expect(bytes.includes(sha256(bob.token))).toBe(true);
  for (const secret of [made.stdout.trim(), bob.token, rotated.stdout.trim()]) {
    expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes(secret.slice(3))).toBe(false);
  }
});

test("a list has all tokens, however many there are", async () => {
  const file = join(folder(), "lintel.db");
  const tokens = (...args: string[]) => runHere(["tokens", ...args, "--database", file]);
  expect(await tokens("create", "--name", "a")).toMatchObject({ code: 0 });
  const database = await openSqlite(file);
  database.exec(`INSERT INTO lintel_tokens (id, name, hash, created_at, version)
    WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
    SELECT 'tok_' || i, 'a' || i, 'sha256:' || i, 1, 1 FROM n`);
  database.close();
  const listed: { name: string }[] = JSON.parse((await tokens("list", "--json")).stdout);
  expect(new Set(listed.map(({ name }) => name)).size).toBe(2001);
  expect(listed).toHaveLength(2001);
});

test("lists what each may do and how it stands, one that expired too", async () => {
  const database = ["--database", join(folder(), "lintel.db")];
  const tokens = (...args: string[]) => runHere(["tokens", ...args, ...database]);
  const limits = [
    "--rpm",
    "60",
    "--tpm",
    "unlimited",
    "--images-per-day",
    "5",
    "--concurrent",
    "0",
  ];
  const budget = ["--budget", "2.5/day", "--models", "a, b*,"];
  await tokens("create", "--name", "alice", "--expires", "2h", ...limits, ...budget);
  await tokens("create", "--name", "bob");
  const start = Date.now();
  const rows = async () =>
    (await tokens("list")).stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {3,}/));
  const [, alice, bob] = await rows();
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/);
  const may = "rpm 60, tpm unlimited, images/day 5, concurrent 0, budget 2.5/day";
  const id = expect.stringMatching(/^tok_/);
  expect(alice).toEqual(["alice", id, "active", "a b*", may, time, time]);
  expect(Date.parse(alice?.[6] ?? "") - Date.parse(alice?.[5] ?? "")).toBe(2 * 3_600_000);
  expect(Math.abs(Date.parse(alice?.[5] ?? "") - start)).toBeLessThan(120_000);
  expect(bob).toEqual(["bob", id, "active", "all", time, "never"]);

  const now = vi.spyOn(Date, "now").mockReturnValue(start + 3 * 3_600_000);
  onTestFinished(() => now.mockRestore());
  expect((await rows()).map((row) => row[2])).toEqual(["STATE", "expired", "active"]);
  expect(JSON.parse((await tokens("list", "--json")).stdout)).toMatchObject([
    { name: "alice", state: "expired", expires: expect.stringMatching(/Z$/) },
    { name: "bob", state: "active" },
  ]);
  for (const name of ["alice", "bob"]) {
    const stderr = `${name}: revoked; every gateway refuses it\n`;
    expect(await tokens("revoke", name)).toEqual({ code: 0, stdout: "", stderr });
  }
  const ended = JSON.parse((await tokens("list", "--all", "--json")).stdout) as object[];
  expect(ended).toMatchObject([{ state: "revoked" }, { state: "revoked" }]);
  expect(await tokens("list")).toEqual({
    code: 0,
    stdout: "",
    stderr: "there are no tokens\n",
  });
  expect(await tokens("rotate", "bob")).toEqual({
    code: 1,
    stdout: "",
    stderr: 'lintel: there is no token "bob" that counts\n',
  });
});

test("update changes what is said, and tells what the token may do now", async () => {
  const yaml = "auth: { mode: token, teams: [{ name: red }] }\nstate: { directory: state }\n";
  const cwd = folder({ "lintel.yaml": yaml });
  const config = ["--config", join(cwd, "lintel.yaml")];
  const tokens = (...args: string[]) => runHere(["tokens", ...args, ...config]);
  const made = await tokens("create", "--name", "alice", "--team", "red", "--rpm", "60");
  expect(made.stderr).toMatch(/^alice \(\S+\): the token is shown only now\n$/);
  const more = ["--concurrent", "2", "--budget", "5/day", "--models", "a,b", "--expires", "90d"];
  const updated = await tokens("update", "alice", "--rpm", "unlimited", ...more);
  expect(updated.code).toBe(0);
  expect(updated.stderr).toBe("every gateway knows within 5 s\n");
  expect(updated.stdout).toMatch(/^NAME +ID .*\nalice +tok_\S+ +active +red +a b +/);
  expect(updated.stdout).toContain("rpm unlimited, concurrent 2, budget 5/day");
  const back = ["--rpm", "default", "--budget", "default", "--models", "all", "--expires", "never"];
  const json = await tokens("update", "alice", ...back, "--team", "none", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({
    ...{ name: "alice", state: "active", team: null, models: null, expires: null },
    limits: { concurrent: 2 },
  });
  const slip = 'no team of auth.teams is called "rde" (did you mean "red"?): only limits.team';
  expect((await tokens("update", "alice", "--team", "rde")).stderr).toContain(slip);
  expect((await tokens("create", "--name", "bob", "--team", "rde")).stderr).toContain(slip);
  expect(JSON.parse((await tokens("list", "--json")).stdout)).toMatchObject([
    { name: "alice", team: "rde" },
    { name: "bob", team: "rde", limits: null },
  ]);
  expect(await tokens("update", "carl", "--rpm", "1")).toEqual({
    code: 1,
    stdout: "",
    stderr: 'lintel: there is no token "carl" that counts\n',
  });
});

test("end users of a token have limits of its own, one by one", async () => {
  const database = ["--database", join(folder(), "lintel.db")];
  const tokens = (...args: string[]) => runHere(["tokens", ...args, ...database]);
  const listed = async () =>
    (JSON.parse((await tokens("list", "--json")).stdout) as { limits: unknown }[])[0]?.limits;
  const user = ["--user-rpm", "5", "--user-budget", "1/day", "--user-images-per-day", "unlimited"];
  await tokens("create", "--name", "shop", ...user);
  const budget = { amount: 1, period: "day" };
  expect(await listed()).toEqual({
    user: { requests_per_minute: 5, images_per_day: "unlimited", budget },
  });
  const back = ["--user-rpm", "default", "--user-concurrent", "2", "--user-tpm", "7"];
  const updated = await tokens("update", "shop", ...back, "--rpm", "60");
  const each = "each user: tpm 7, images/day unlimited, concurrent 2, budget 1/day";
  expect(updated.stdout).toContain(`rpm 60; ${each}`);
  expect(await listed()).toEqual({
    requests_per_minute: 60,
    user: { tokens_per_minute: 7, images_per_day: "unlimited", concurrent: 2, budget },
  });
  const none = ["tpm", "images-per-day", "concurrent", "budget"].flatMap((limit) => [
    ...[`--user-${limit}`, "default"],
  ]);
  await tokens("update", "shop", "--rpm", "default", ...none);
  expect(await listed()).toBeNull();
  const yaml = await tokens("create", "--yaml", "--name", "shop", ...user);
  expect(valid(yaml.stdout.slice(yaml.stdout.indexOf("auth:"))).auth.tokens[0]?.limits).toEqual({
    user: { requests_per_minute: 5, images_per_day: Number.POSITIVE_INFINITY, budget },
  });
});

test.each([
  [["--user-budget", "none"], "--user-budget must be a number, or a number per hour, "],
  [["--user-rpm", "-"], '--user-rpm must be a whole number, 0 or more, or unlimited; or "default"'],
  [[], "tokens update needs something to change: --models, --from, --rpm, "],
  [["--from", "10.0.0.0/33"], "--from: 10.0.0.0/33 must be an address or a network of IPv4 or "],
  [["--from", "a.example"], "--from: a.example must be an address or a network of IPv4 or IPv6"],
  [["--from", ","], "--from needs at least one address"],
  [["--from", "::1,".repeat(101)], "--from must have at most 100 addresses"],
  [["--rpm", "many"], '--rpm must be a whole number, 0 or more, or unlimited; or "default"'],
  [["--budget", "none"], "--budget must be a number, or a number per hour, "],
  [["--team", " "], "--team must have 1 to 128 characters, and no control characters"],
  [["--team", "x".repeat(129)], "--team must have 1 to 128 characters, and no control characters"],
  [["--expires", "2000-01-01"], "--expires is in the past"],
])("update with %j is used wrongly", async (options, words) => {
  const database = ["--database", join(folder(), "lintel.db")];
  const { code, stderr } = await runHere(["tokens", "update", "a", ...options, ...database]);
  expect([code, stderr.split("\n", 1)[0]?.slice(8, 8 + words.length)]).toEqual([2, words]);
});

test("from where a token may be used is told, changed and lifted", async () => {
  const database = ["--database", join(folder(), "lintel.db")];
  const tokens = (...args: string[]) => runHere(["tokens", ...args, ...database]);
  const listed = async () => JSON.parse((await tokens("list", "--json")).stdout)[0].from;
  await tokens("create", "--name", "a", "--from", "10.0.0.0/8, 2001:db8::/32");
  expect(await listed()).toEqual(["10.0.0.0/8", "2001:db8::/32"]);
  await tokens("create", "--name", "b");
  expect((await tokens("list")).stdout).toMatch(
    /^NAME .* EXPIRES +FROM\na .* never +10\.0\.0\.0\/8 2001:db8::\/32\nb .* never +everywhere$/m,
  );
  const changed = await tokens("update", "a", "--rpm", "5");
  expect(changed.stdout).toContain("10.0.0.0/8 2001:db8::/32");
  await tokens("update", "a", "--from", "127.0.0.1");
  expect(await listed()).toEqual(["127.0.0.1"]);
  await tokens("rotate", "a");
  expect(await listed()).toEqual(["127.0.0.1"]);
  await tokens("update", "a", "--from", "everywhere");
  expect(await listed()).toBeNull();
  expect((await tokens("list")).stdout).not.toContain("FROM");
  const yaml = await tokens("create", "--yaml", "--name", "c", "--from", "::1,10.0.0.0/8");
  expect(valid(yaml.stdout.slice(yaml.stdout.indexOf("auth:"))).auth.tokens[0]?.from).toEqual([
    "::1",
    "10.0.0.0/8",
  ]);
  const admin = await tokens("create", "--yaml", "--admin", "--name", "d", "--from", "::1");
  expect(valid(admin.stdout.slice(admin.stdout.indexOf("admin:"))).admin?.tokens[0]?.from).toEqual([
    "::1",
  ]);
});

test("a new token's team is not called as that of none is", async () => {
  const { code, stderr } = await runHere(["tokens", "create", "--name", "a", "--team", "none"]);
  expect([code, stderr.split("\n", 1)[0]]).toEqual([
    2,
    'lintel: --team: no team is called "none": leave it out',
  ]);
});

test("rotate refuses what would be dead at once, or ends a token that may be in use", async () => {
  const database = ["--database", join(folder(), "lintel.db")];
  const tokens = (...args: string[]) => runHere(["tokens", ...args, ...database]);
  await tokens("create", "--name", "alice", "--expires", "90d");
  expect((await tokens("rotate", "alice", "--grace", "24h")).code).toBe(0);
  const again = await tokens("rotate", "alice", "--grace", "24h");
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(again.stderr).toMatch(
    /^lintel: the token that "alice" had before still counts until \d{4}-\S+Z: .* --force .*\n$/,
  );
  expect((await tokens("rotate", "alice", "--force")).stdout).toMatch(/^lt_/);
  // Without a grace the one before ends at once.
  expect((await tokens("list")).stdout).toMatch(/^alice +tok_\S+ +active {2,}/m);
  const tomorrow = new Date(Math.ceil(Date.now() / 1000) * 1000 + 86_400_000).toISOString();
  await tokens("create", "--name", "bob", "--expires", tomorrow);
  await tokens("rotate", "bob", "--grace", "30d");
  // A grace ends with the token.
  expect((await tokens("rotate", "bob")).stderr).toContain(`still counts until ${tomorrow}:`);
  await tokens("revoke", "bob");

  const now = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 91 * 86_400_000);
  onTestFinished(() => now.mockRestore());
  const expired = await tokens("rotate", "alice");
  expect(expired).toMatchObject({ code: 1, stdout: "" });
  expect(expired.stderr).toMatch(
    /^lintel: the token "alice" expired at \d{4}-\S+Z: give it another expiry; say --expires WHEN for that\n$/,
  );
  expect((await tokens("rotate", "alice", "--expires", "2000-01-01")).code).toBe(2);
  expect((await tokens("rotate", "alice", "--expires", "never")).stdout).toMatch(/^lt_/);
  expect(JSON.parse((await tokens("list", "--json")).stdout)).toMatchObject([
    { state: "active", expires: null },
  ]);
});

test("a name that somebody has is not given twice, wherever that one stands", async () => {
  const cwd = folder({
    "lintel.yaml": `auth:
  tokens: [{ name: alice, hash: "${sha256("x")}" }]
  oidc: [{ name: corp, issuer: "https://a.example", audience: lintel }]
state: { directory: state }
`,
  });
  const config = ["--config", join(cwd, "lintel.yaml")];
  const create = (name: string) => runHere(["tokens", "create", "--name", name, ...config]);
  const alice = await create("alice");
  const corp = await create("corp:x");
  const other = await create("corporal");
  expect(alice).toMatchObject({
    code: 1,
    stderr: 'lintel: a token in the configuration is called "alice" already\n',
  });
  expect(corp).toMatchObject({
    code: 1,
    stderr: 'lintel: callers of an OIDC issuer are called like "corp:x"\n',
  });
  expect(other.stderr).toContain("auth.mode is public: tokens are looked at where it is token");
});

test("what only reads makes no database, and says where there is none", async () => {
  const cwd = folder({ "lintel.yaml": "state: { directory: state }\n" });
  const file = join(cwd, "lintel.yaml");
  const where = join(cwd, "state", "lintel.db");
  const commands = [
    ["usage"],
    ["tokens", "list"],
    ["tokens", "revoke", "a"],
    ["tokens", "rotate", "a"],
  ];
  for (const args of [...commands, ["backup", join(cwd, "copy.db")]]) {
    expect(await runHere([...args, "--config", file])).toEqual({
      code: 1,
      stdout: "",
      stderr: `lintel: there is no database ${where} (as ${file} has it)\n`,
    });
  }
  expect(readdirSync(cwd)).toEqual(["lintel.yaml"]);
  const unnamed = await run(["tokens", "list", "--json"], folder());
  expect(unnamed).toMatchObject({ code: 1, stdout: "" });
  expect(unnamed.stderr).toMatch(/lintel\.db \(no configuration file: --config names one\)\n$/);
});

test("a database that can't be used is one line and 1", async () => {
  const database = "postgres://me:secret@127.0.0.1:1/none";
  const list = (where: string) => runHere(["tokens", "list", "--database", where]);
  const away = await list(database);
  expect(away).toEqual({
    code: 1,
    stdout: "",
    stderr: "lintel: PostgreSQL can't be used: connect ECONNREFUSED 127.0.0.1:1\n",
  });
  // Of this the driver writes a warning of its own.
  const tls = ["--database", `${database}?sslmode=require`];
  expect(await run(["tokens", "list", ...tls], folder())).toMatchObject(away);
  const gone = await list("gone.db");
  expect(gone).toMatchObject({ code: 1, stderr: "lintel: there is no database gone.db\n" });
  const file = join(folder({ "lintel.db": "not a database" }), "lintel.db");
  const broken = await list(file);
  expect(broken).toMatchObject({ code: 1, stderr: `lintel: ${file}: file is not a database\n` });
});

test("a database whose certificate nobody vouches for is told, and how it is trusted", async () => {
  const pem = (name: string) =>
    readFileSync(join(import.meta.dirname, `../fixtures/tls/${name}.pem`));
  const [key, cert] = [pem("key"), pem("cert")];
  // As PostgreSQL does: it says yes to TLS, which then begins.
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("S");
      new TLSSocket(socket, { isServer: true, key, cert }).on("error", () => {});
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const database = `postgres://me@localhost:${port}/l?host=127.0.0.1&sslmode=require`;
  const { code, stderr } = await runHere(["tokens", "list", "--database", database]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^lintel: PostgreSQL can't be used: .* \(DEPTH_ZERO_SELF_SIGNED_CERT\); sslrootcert=FILE in the address of the database \(state\.database\) trusts the authority in a file\n$/,
  );
});

test("commands about the database need nothing of the configuration but where it is", async () => {
  const cwd = folder({
    "lintel.yaml": `state: { directory: kept }
backends: [{ type: openai, name: a, url: "http://127.0.0.1:1", api_key: "\${ONLY_THE_GATEWAY_HAS_IT}" }]
modles: []
auth: { tokens: [{ name: bob, hash: "${sha256("bob")}" }] }
`,
  });
  const here = (...args: string[]) => runHere([...args, "--config", join(cwd, "lintel.yaml")]);
  expect(await here("tokens", "create", "--name", "alice")).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /\nauth\.mode is public: tokens are looked at where it is token\n$/,
    ),
  });
  expect(await here("tokens", "create", "--name", "bob")).toMatchObject({ code: 1 });
  expect((await here("tokens", "list")).stdout).toContain("alice");
  expect(await here("usage")).toMatchObject({ code: 0, stderr: "nothing was used\n" });
  expect(await here("backup", join(cwd, "copy.db"))).toMatchObject({ code: 0 });
  expect(readdirSync(join(cwd, "kept"))).toContain("lintel.db");
});
