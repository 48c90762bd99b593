/** `lintel tokens` and `lintel usage` with `--server`: as with a database, from another machine. */
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { stripVTControlCharacters } from "node:util";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { expect, it, onTestFinished, vi } from "vitest";
import { UsageService } from "../../gen/lintel/admin/v1/usage_pb.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { runHere } from "../cli/here.js";
import { valid } from "../config/text.js";
import { administered, adminLines, secret } from "./gateway.js";

function environment(token: string) {
  vi.stubEnv("LINTEL_ADMIN_TOKEN", token);
  onTestFinished(() => void vi.unstubAllEnvs());
}

it("says the same of tokens as of a database", async () => {
  environment(secret);
  const { url, cwd, chat } = await administered();
  const database = ["--config", `${cwd}/lintel.yaml`];
  const remote = (...args: string[]) => runHere(["tokens", ...args, "--server", url]);
  const local = (...args: string[]) => runHere(["tokens", ...args, ...database]);
  const limits = ["--rpm", "60", "--tpm", "unlimited", "--budget", "2.5/day"];
  const made = await remote("create", "--name", "alice", "--models", "chat,b*", ...limits);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^lt_[\w-]{43}\n$/) });
  expect(made.stderr).toMatch(/^alice \(tok_[\w-]{12}\): the token is shown only now\n$/);
  expect((await chat("chat", "Hello", made.stdout.trim())).status).toBe(200);

  for (const way of [["list"], ["list", "--json"], ["list", "--all", "--json"]]) {
    const [here, there] = [await local(...way), await remote(...way)];
    expect(there).toEqual(here);
    expect(there.stdout).toContain("alice");
  }
  const team = await remote("update", "alice", "--team", "blue", "--rpm", "default");
  expect(team).toMatchObject({ code: 0, stdout: expect.stringContaining("blue") });
  expect(team.stdout).not.toContain("rpm");
  expect(team.stderr).toMatch(/no team of auth.teams is called "blue".*\n.*knows within 5 s\n$/);
  const rotated = await remote("rotate", "alice", "--grace", "1h");
  expect(rotated.stdout).toMatch(/^lt_/);
  const [here, there] = [await local("rotate", "alice"), await remote("rotate", "alice")];
  expect(there).toEqual(here);
  expect(there).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/; say --force for that\n$/),
  });
  expect(await remote("revoke", "alice")).toEqual({
    code: 0,
    stdout: "",
    stderr: "alice: revoked; every gateway refuses it within 5 s\n",
  });
  expect(await remote("revoke", "alice")).toEqual(await local("revoke", "alice"));
  expect((await chat("chat", "Hello", rotated.stdout.trim())).status).toBe(401);
});

it("says the same of usage as of a database, and --token is whose it is there", async () => {
  environment(secret);
  const { url, cwd, chat } = await administered();
  const server = ["--server", url];
  const requests: string[] = [];
  for (const name of ["alice", "bob"]) {
    const { stdout } = await runHere(["tokens", "create", "--name", name, ...server]);
    const answer = await chat("chat", "Hello", stdout.trim());
    await answer.text();
    requests.push(answer.headers.get("x-request-id") ?? "");
  }
  const ask = (...args: string[]) => runHere(["usage", "--format", "csv", ...args]);
  const there = await ask("--by", "token,outcome", ...server);
  // Also of the last moment: the gateway brings in what it has on its way.
  expect(stripVTControlCharacters(there.stdout)).toMatch(/^token,outcome,calls,/);
  expect(there.stdout.split("\n").filter((line) => /^(alice|bob),ok,1,0,/.test(line))).toHaveLength(
    2,
  );
  expect(await ask("--by", "token,outcome", "--config", `${cwd}/lintel.yaml`)).toEqual(there);
  const ever = ["--by", "token,outcome", "--since", "1960-01-01"];
  expect(await ask(...ever, ...server)).toEqual(there);
  expect(await ask(...ever, "--config", `${cwd}/lintel.yaml`)).toEqual(there);
  const one = await ask("--by", "token", "--token", "bob", ...server);
  expect(one.stdout.trim().split("\n").slice(1)).toEqual([expect.stringMatching(/^bob,/)]);
  const first = await ask("--by", "token", "--request", requests[0] ?? "", ...server);
  expect(first.stdout.trim().split("\n").slice(1)).toEqual([expect.stringMatching(/^alice,/)]);
});

it("dates are those of the gateway's time zone, and times are as they are", async () => {
  environment(secret);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 4, 1, 12) });
  onTestFinished(() => void vi.useRealTimers());
  // Two o'clock of the second there.
  const { url, chat } = await administered(`time_zone: Pacific/Kiritimati\n${adminLines()}`);
  const server = ["--server", url];
  const { stdout } = await runHere(["tokens", "create", "--name", "alice", ...server]);
  await (await chat("chat", "Hello", stdout.trim())).text();
  const calls = async (...when: string[]) => {
    const told = await runHere(["usage", "--by", "token", "--format", "json", ...when, ...server]);
    expect(told).toMatchObject({ code: 0, stderr: "" });
    return JSON.parse(told.stdout).map(({ calls }: { calls: number }) => calls);
  };
  expect(await calls("--since", "2027-05-02")).toEqual([1]);
  expect(await calls("--since", "2027-05-01", "--until", "2027-05-02")).toEqual([]);
  expect(await calls("--since", "2027-05-02T00:00Z")).toEqual([]);
  expect(await calls("--since", "2027-05-01", "--until", "2027-05-02T00:00Z")).toEqual([1]);
  const order = await runHere([
    ...["usage", "--since", "2027-05-02", "--until", "2027-05-01T10:00Z", ...server],
  ]);
  expect(order).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--until must be after --since"),
  });
});

it.each([
  ["tells none, as of an earlier version: dates begin in UTC", "", 0, "2027-05-02T00:00:00.000Z"],
  ["tells one that is not known here", "Mars/Base", 2, undefined],
])("of a gateway that %s", async (_, timeZone, code, since) => {
  environment(secret);
  const asked: unknown[] = [];
  const handler = connectNodeAdapter({
    routes: (router) =>
      router.service(UsageService, {
        queryUsage({ startTime, groupBy }) {
          if (groupBy.length > 0) asked.push(startTime && timestampDate(startTime).toISOString());
          return { timeZone };
        },
      }),
  });
  const server = createServer(handler).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const where = ["--server", `http://127.0.0.1:${port}`];
  const told = await runHere(["usage", "--since", "2027-05-02", ...where]);
  expect([told.code, asked]).toEqual([code, since === undefined ? [] : [since]]);
  expect(told.stderr).toContain(
    code === 0 ? "nothing was used" : 'time zone "Mars/Base" is not known here: say times',
  );
});

it("warns that no more usage is kept there", async () => {
  environment(secret);
  const { url } = await administered(`usage: { enabled: false }\n${adminLines()}`);
  const { code, stderr } = await runHere(["usage", "--server", url]);
  expect([code, stderr.split("\n")[0]]).toEqual([
    0,
    "warning: usage.enabled is false: no records of calls are kept",
  ]);
});

it("tells whose token it wants, and where there is no administration", async () => {
  vi.stubEnv("LINTEL_ADMIN_TOKEN", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  const [{ url }, { url: plain }] = [await administered(), await administered("")];
  const list = (...args: string[]) => runHere(["tokens", "list", ...args]);
  expect(await list("--server", url)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--admin-token or LINTEL_ADMIN_TOKEN must say the token"),
  });
  expect(await list("--server", url, "--admin-token", createToken())).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^lintel: the bearer token is no administrator's/),
  });
  expect(await list("--server", plain, "--admin-token", secret)).toEqual({
    code: 1,
    stdout: "",
    stderr: `lintel: administration is not served at ${plain}: has its configuration admin?\n`,
  });
  for (const other of [
    ["--database", "x.db"],
    ["--config", "x.yaml"],
  ]) {
    expect(await list("--server", url, "--admin-token", secret, ...other)).toMatchObject({
      code: 2,
    });
  }
  expect(await list("--admin-token", secret)).toMatchObject({ code: 2 });
});

it("create --yaml --admin prints an administrator's token, and lines that make it one", async () => {
  const create = (...args: string[]) => runHere(["tokens", "create", "--name", "ops", ...args]);
  const { code, stdout } = await create("--yaml", "--admin", "--expires", "2099-01-31");
  expect(code).toBe(0);
  const [token = ""] = stdout.split("\n");
  expect(valid(stdout.slice(stdout.indexOf("admin:"))).admin?.tokens).toEqual([
    { name: "ops", hash: hashToken(token), expires: Date.UTC(2099, 0, 31) },
  ]);
  expect(await create("--admin")).toMatchObject({ code: 2 });
  expect(await create("--admin", "--yaml", "--rpm", "5")).toMatchObject({ code: 2 });
});

it("warns once where the administrator's token goes without TLS to another machine", async () => {
  environment(secret);
  const { url } = await administered();
  const { port } = new URL(url);
  // This machine, too, but not said to be.
  const warnings = async (host: string) => {
    const { code, stderr } = await runHere([
      "tokens",
      "list",
      "--server",
      `http://${host}:${port}`,
    ]);
    expect(code).toBe(0);
    return stderr.split("\n").filter((line) => line.startsWith("warning: "));
  };
  expect(await warnings("0.0.0.0")).toEqual([
    `warning: the administrator's token goes to http://0.0.0.0:${port} without TLS: whoever listens in on the way has it`,
  ]);
  for (const host of ["localhost", "127.0.0.1"]) expect(await warnings(host)).toEqual([]);
  // Nobody answers there, which is no matter.
  for (const unread of ["http://[::1]:9", `https://0.0.0.0:${port}`]) {
    const { code, stderr } = await runHere(["tokens", "list", "--server", unread]);
    expect([code, stderr]).toEqual([1, expect.not.stringContaining("warning: ")]);
  }
});
