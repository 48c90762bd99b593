import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { run as runHere } from "../../src/cli/run.js";
import { configJsonSchema } from "../../src/config/json-schema.js";
import { tiny } from "../backends/llama-subject.js";
import { build, entry, folder, run, start } from "./lintel.js";

beforeAll(build);

const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { version: string };

test("version, help and schema", async () => {
  const [short, help, command, schema] = await Promise.all([
    run(["--version"]),
    run(["help"]),
    run(["tokens", "create", "--help"]),
    run(["schema"]),
  ]);
  expect(short).toMatchObject({ code: 0, stdout: `lintel ${version}\n` });
  expect(help.code).toBe(0);
  for (const word of [
    "serve",
    "check",
    "node",
    "account",
    "own-tokens create",
    "tokens create",
    "tokens revoke \\[NAME\\]",
    "usage",
    "schema",
    "version",
  ]) {
    expect(help.stdout).toMatch(new RegExp(`^  ${word} `, "m"));
  }
  expect(command).toMatchObject({ code: 0, stderr: "" });
  expect(command.stdout).toMatch(/Usage: lintel tokens create .*--name NAME/s);
  expect(schema.code).toBe(0);
  expect(JSON.parse(schema.stdout)).toEqual(configJsonSchema());
});

test("a group's commands are shown in whichever way one asks", async () => {
  const ways = [
    ["help", "tokens"],
    ["tokens", "--help"],
    ["tokens", "-h"],
  ];
  for (const way of ways) {
    const { code, stdout, stderr } = await run(way);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(
      /^Usage: lintel tokens COMMAND \[OPTIONS\]\n\nCommands:\n {2}tokens create /,
    );
    expect(stdout).toMatch(/^ {2}tokens rotate NAME +replaces a token/m);
  }
});

describe("wrong arguments end with 2 and say what was meant", () => {
  test.each<[string[], string]>([
    [["sevre"], 'unknown command "sevre" (did you mean "serve"?)'],
    [["frobnicate"], 'unknown command "frobnicate"; there are: serve, check'],
    [["serve", "--lisen", ":1"], 'unknown option --lisen (did you mean "--listen"?)'],
    [["--lisen=:1"], 'unknown option --lisen (did you mean "--listen"?)'],
    [["check", "--constructor"], "unknown option --constructor"],
    [["check", "--config"], "--config needs a value: --config FILE"],
    [["check", "extra"], 'unexpected argument "extra"'],
    [["check", "my.yml"], 'unexpected argument "my.yml": name a file with --config'],
    [["chat", "good", "day"], 'unexpected argument "day": put MESSAGE in quotes'],
    [["serve", "--port", "1"], 'unknown option --port (did you mean "--listen"?)'],
    [
      ["chat", "--logit-bias", "the=1"],
      "--logit-bias the=1: must be a token's id, =, and a number",
    ],
    [["chat", "--api-key", "a"], 'unknown option --api-key (did you mean "--token"?)'],
    [["image", "a", "--output", "b"], 'unknown option --output (did you mean "--out"?)'],
    [
      ["image", "a", "--frames", "2"],
      "unknown option --frames\nlintel help image lists its options",
    ],
    [["tokens"], "say what to do: lintel tokens create, list, update, revoke or rotate"],
    [["token"], 'unknown command "token" (did you mean "tokens"?)'],
    [["tokens", "creat"], 'unknown command "tokens creat" (did you mean "create"?)'],
    [["own-tokens", "create"], "own-tokens create needs --name NAME"],
    [["tokens", "create"], "tokens create needs --name NAME"],
    [["tokens", "create", "--name", "a", "--name", "b"], "--name is given twice"],
    [["tokens", "create", "--name", "a", "b"], 'unexpected argument "b"'],
    [["tokens", "create", "--name", "tok_x"], "--name must have at most 128 characters"],
    [
      ["tokens", "create", "--name", "a", "--models", "b,*-c*"],
      "--models: *-c* must have at most one *",
    ],
    [["tokens", "create", "--name", "a", "--rpm", "-1"], "--rpm must be a whole number"],
    [
      ["tokens", "create", "--name", "a", "--budget", "5/year"],
      "--budget must be a number, or a number per hour, day, week, month or lifetime, or unlimited: 20, 5/day",
    ],
    [["tokens", "create", "--name", "a", "--expires", "soon"], "--expires must be a date, a time"],
    [["tokens", "create", "--name", "a", "--expires", "2020-01-01"], "--expires is in the past"],
    [
      ["tokens", "create", "--name", "a", "--expires", "999999999d"],
      "--expires must be before the year 10000",
    ],
    [
      ["tokens", "create", "--name", "a", "--yaml", "--expires", "100000001d"],
      "--expires must be before the year 10000",
    ],
    [["tokens", "create", "--name", "a", "--models", " ,"], "--models needs at least one name"],
    [["tokens", "create", "--name", "x".repeat(129)], "--name must have at most 128 characters"],
    [["tokens", "create", "--name", "a\nb"], "--name must have at most 128 characters, no control"],
    [["tokens", "create", "--name", "a", "--tpm", "1.5"], "--tpm must be a whole number"],
    [["tokens", "create", "--name", "a", "--rpm", "1234567890123"], "--rpm must be a whole number"],
    [["tokens", "create", "--name", "a", "--budget", "0.0000000001"], "--budget must be a number"],
    [["tokens", "create", "--name", "a", "--budget", "5/day/2"], "--budget must be a number, or"],
    [["tokens", "create", "--name", "a", "--budget", "/day"], "--budget must be a number, or"],
    [["tokens", "create", "--name", "a", "--expires", "90"], "--expires must be a date, a time"],
    [["tokens", "revoke"], "tokens revoke needs NAME"],
    [["tokens", "revoke", "a", "b"], 'unexpected argument "b"'],
    [["tokens", "rotate", "a", "--grace", "1"], "--grace must be a duration such as 30s"],
    [["tokens", "rotate", "a", "--grace", "999999999d"], "--grace must end before the year 10000"],
    [
      ["tokens", "create", "--name", "a", "--database", "POSTGRES://a"],
      "--database must be a file",
    ],
    [["tokens", "create", "--name", "a", "--database", "sqlite"], "--database must be a file"],
    [["usage", "--database", "mysql://x"], "--database must be a file"],
    [["backup", "a.db", "--database", "postgress://a"], "--database must be a file"],
    [["usage", "--by", "tokn"], '--by: there is no group "tokn" (did you mean "token"?)'],
    [["usage", "--by", "galaxy"], '--by: there is no group "galaxy"; there are: token, '],
    [["usage", "--until", "soon"], "--until must be a duration, a date or a time"],
    [["usage", "--since", "yesterday"], "--since must be a duration, a date or a time"],
    [["usage", "--since", "2027-02-31"], "--since must be a duration, a date or a time"],
    [["usage", "--format", "xml"], "--format must be table, csv or json"],
    [["node"], "node needs at least one --model PATH"],
    [["node", "-m", "a", "--threads", "many"], "--threads must be a number"],
    [["node", "-m", "a", "--threads", "257"], "--threads must be at most 256"],
    [["node", "-m", "a", "--listen", "x"], "--listen must be host:port"],
    [["node", "-m", "a", "--listen", `unix:/${"x".repeat(103)}`], "--listen must lead to a socket"],
    [["node", "-m", "a", "--prometheus", "9464x"], "--prometheus must be host:port"],
    [
      ["node", "-m", "a", "--prometheus", ":8081"],
      "--prometheus can't be listened on beside --listen: one of them takes every address",
    ],
    [["node", "-m", "a", "--gpu", "tpu"], "--gpu must be one of "],
    [
      ["node", "-m", "a", "--gpu-layers", "most"],
      "--gpu-layers must be a whole number from 0, auto or max",
    ],
    [["node", "-m", "a", "--gpu-layers=-1"], "--gpu-layers must be at least 0"],
    [
      ["node", "-m", "a", "--chat-template", "a.jinja"],
      "--chat-template a.jinja: must be a model's name, =, and a file",
    ],
    [
      ["node", "-m", "a", "--chat-template", "a=/no/such.jinja"],
      "--chat-template a=/no/such.jinja: there is no such file",
    ],
    [
      ["node", "-m", "a", "--chat-template", "a=/"],
      "--chat-template a=/: it can't be read (EISDIR)",
    ],
    [
      ["node", "-m", "a", "--chat-template", "a=package.json"],
      "--chat-template a=package.json: must be a Jinja template that works: it has no {{",
    ],
    [
      ["node", "-m", "a", "--lora", "a.gguf"],
      "--lora a.gguf: must be a model's name, =, and a file",
    ],
    [["node", "-m", "a", "--lora", "a=b.gguf:101"], "--lora a=b.gguf:101: scale: must be at most"],
    [["node", "-m", "a", "--kv-cache-type", "q3"], "--kv-cache-type must be one of f32, f16, bf16"],
    [
      ["node", "-m", "a", "--flash-attention", "on"],
      "--flash-attention must be one of true, false",
    ],
    [["node", "-m", "a", "--min-p", "1.5"], "--min-p must be at most 1"],
    [["node", "-m", "a", "--repeat-penalty", "0"], "--repeat-penalty must be at least 0.1"],
    [["node", "-m", "a", "--presence-penalty=-3"], "--presence-penalty must be at least -2"],
    [["node", "-m", "a", "--frequency-penalty", "3"], "--frequency-penalty must be at most 2"],
    [["node", "-m", "a", "--keep-alive", "0"], "--keep-alive must be longer than 0"],
    [["node", "-m", "a", "--sequences", "0"], "--sequences must be at least 1"],
    [["node", "-m", "a", "--sequences", "1.5"], "--sequences must be a whole number"],
    [["node", "-m", "a", "--sequences", "257"], "--sequences must be at most 256"],
    [["node", "-m", "a", "--context-size", "15"], "--context-size must be at least 16"],
    [["node", "-m", "a", "--load", "never"], "--load must be one of start, lazy"],
    [["node", "-m", "a", "--memory-budget", "much"], "--memory-budget must be a size such as"],
    [["node", "-m", "a", "--classifier-threshold", "0"], "--classifier-threshold must be a number"],
    [["node", "-m", "a", "--classifier-threshold", "1.1"], "--classifier-threshold must be a"],
    [["node", "-m", "a", "--classifier-label", "nsfw"], "--classifier-label needs --classifier FO"],
    [["node", "-m", "a", "--classifier-threshold", "0.5"], "--classifier-threshold needs"],
    [["node", "-m", "a", "--log-level", "loud"], "--log-level must be one of trace, debug"],
    [["node", "-m", "a", "--body-limit", "0"], "--body-limit must be from 1 byte to 512MB"],
    [["node", "-m", "a", "--body-limit", "1GB"], "--body-limit must be from 1 byte to 512MB"],
  ])("%j", async (args, message) => {
    const stdout = vi.spyOn(process.stdout, "write");
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(await runHere(args)).toBe(2);
    expect(stderr.mock.lastCall?.[0]).toContain(`lintel: ${message}`);
    expect(stdout).not.toHaveBeenCalled();
  });

  test("as a process", async () => {
    const { code, stdout, stderr } = await run(["sevre"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      'lintel: unknown command "sevre" (did you mean "serve"?)\nlintel help lists the commands and their options\n',
    );
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });
});

test("a reader that is gone ends a command without a word", async () => {
  const lintel = start(["schema"]);
  lintel.unread();
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
  expect(lintel.stderr).toBe("");
});

test.runIf(existsSync("/dev/full")).each([[["schema"]], [["tokens", "create", "--name", "a"]]])(
  "%j on a full disk is one line and 1",
  async (args) => {
    const stdout = openSync("/dev/full", "w");
    const lintel = start(args, folder(), {}, { stdout });
    closeSync(stdout);
    expect(await lintel.ended).toEqual({ code: 1, signal: null });
    const [line, ...more] = lintel.stderr.split("\n").filter((line) => line.startsWith("lintel: "));
    expect(line).toContain("lintel: the output can't be written (ENOSPC)");
    expect(more).toEqual([]);
    expect(lintel.stderr).not.toContain("    at ");
  },
);

describe("check", () => {
  test("says ok", async () => {
    const cwd = folder({ "lintel.yaml": "listen: 127.0.0.1:0\n" });
    expect(await run(["check"], cwd)).toEqual({ code: 0, stdout: "lintel.yaml: ok\n", stderr: "" });
    expect(await run(["check"])).toMatchObject({ code: 0, stdout: "no file, defaults: ok\n" });
  });

  test("lists every mistake with its line", async () => {
    const cwd = folder({ "a.yaml": "lsiten: 1\nlog:\n  level: loud\n" });
    const { code, stdout, stderr } = await run(["check", "-c", "a.yaml"], cwd);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr.trimEnd().split("\n")).toEqual([
      'a.yaml:1:1: lsiten: unknown key (did you mean "listen"?)',
      "a.yaml:3:10: log.level: must be one of trace, debug, info, warn, error, fatal or silent",
    ]);
  });

  test("warns, and knows the environment", async () => {
    const cwd = folder({ "lintel.yaml": "auth: { mode: none }\n" });
    const open = await run(["check"], cwd, { HOST: "0.0.0.0" });
    expect(open.code).toBe(0);
    expect(open.stderr).toContain("warning: auth.mode is none");
    expect(await run(["check"], cwd, { LINTEL_CONFIG: "gone.yaml" })).toMatchObject({
      code: 1,
      stderr: "gone.yaml: there is no such file; LINTEL_CONFIG names it\n",
    });
  });
});

test("a chat model loads for a user without a home whom the system does not know", async ({
  skip,
}) => {
  skip(process.getuid?.() !== 0, "only root may become somebody else");
  const uid = 1_999_999_999;
  const look = spawnSync(process.execPath, [entry, "version"], { uid });
  skip(look.status !== 0, "only this user may read the folder of Lintel");
  const args = ["node", "--model", tiny, "--listen", "127.0.0.1:0"];
  const node = start(args, folder(), { HOME: undefined }, { uid });
  onTestFinished(() => {
    node.kill("SIGKILL");
  });
  const [, said] = await node.saying(/"msg":"(model loaded|model failed to load)"/);
  expect(said).toBe("model loaded");
  node.kill("SIGTERM");
  expect(await node.ended).toMatchObject({ code: 0 });
});
