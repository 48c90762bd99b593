/** Starts that can't succeed, or wait for somebody: what is said, also by `lintel check`, and what is left behind. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, expect, test, vi } from "vitest";
import { closeAfter, gateway, killAfter, silentServer } from "./gateway.js";
import { build, folder, run, start } from "./lintel.js";
import { noSeconds } from "./several.js";

beforeAll(build);

test("an address that is in use is one line and 1", async () => {
  const { base } = await gateway();
  const { host } = new URL(base);
  const cwd = folder({ "lintel.yaml": "backends: []\n" });
  const { code, stdout, stderr } = await run(["--listen", host], cwd);
  expect([code, stdout]).toEqual([1, ""]);
  const lines = stderr.trimEnd().split("\n");
  expect(lines.filter((line) => !line.startsWith("{"))).toEqual([
    `lintel: can't listen on ${host}: another program uses this address`,
  ]);
});

test("a socket's address is the same for who listens and who calls; a shell can take its path", async () => {
  const { url } = await silentServer();
  const cwd = folder();
  const address = `unix://${cwd}/it's%20here/l.sock`;
  writeFileSync(
    join(cwd, "lintel.yaml"),
    `listen: "${address}"\nbackends: [{ type: openai, name: remote, url: "${url}", models: [tiny] }]\n`,
  );
  mkdirSync(join(cwd, "it's here"));
  const lintel = start([], cwd);
  killAfter(lintel);
  const [, path] = await lintel.until(/curl --unix-socket (.*) http:/);
  expect(path).toBe(`'${cwd}/it'\\''s here/l.sock'`);
  for (const server of [address, `unix:${cwd}/it's here/l.sock`]) {
    expect(await run(["models", "--server", server])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("tiny"),
    });
  }
});

test("a socket whose folder is missing is told so", async () => {
  const cwd = folder({ "lintel.yaml": "backends: []\n" });
  const { code, stderr } = await run(["--listen", "unix:none/a.sock"], cwd);
  expect(code).toBe(1);
  expect(stderr).toContain(
    `lintel: can't listen on ${join(cwd, "none", "a.sock")}: the socket's folder does not exist`,
  );
});

test("a socket in the place of a file is told so, and the file stays", async () => {
  const cwd = folder({ "lintel.yaml": "backends: []\n" });
  const { code, stderr } = await run(["--listen", "unix:lintel.yaml"], cwd);
  expect(code).toBe(1);
  const path = join(cwd, "lintel.yaml");
  expect(stderr).toContain(`lintel: can't listen on ${path}: a file or a folder is there already`);
  expect(readFileSync(path, "utf8")).toBe("backends: []\n");
});

test("a folder for images that can't be written to is one line and 1", async () => {
  const cwd = folder({
    "lintel.yaml": "backends: []\nlisten: 127.0.0.1:0\nmedia: { directory: lintel.yaml/x }\n",
  });
  const { code, stderr } = await run([], cwd);
  expect(code).toBe(1);
  expect(stderr).toContain("lintel: media.directory:");
  expect(stderr).not.toContain("    at ");
});

// /proc is where folders can't be made, also by root, and where Node's own way never ends.
test.runIf(existsSync("/proc/self")).each(["lintel.yaml/x", "/proc/nope", "/proc/nope/x"])(
  "state in %s is one line and 1",
  async (directory) => {
    const cwd = folder({
      "lintel.yaml": `backends: []\nlisten: 127.0.0.1:0\nstate: { directory: ${directory} }\n`,
    });
    const lintel = start([], cwd);
    killAfter(lintel);
    expect(await lintel.ended).toMatchObject({ code: 1 });
    expect(lintel.stderr).toMatch(/^lintel: state\.directory: .+ can't be written to \(E\w+\)$/m);
    expect(lintel.stderr).not.toContain("    at ");
  },
);

test("check warns of folders that can't be written to, and makes none", async () => {
  const cwd = folder({
    "lintel.yaml": `state: { directory: lintel.yaml/x }
media: { directory: new/media }
public_url: https://ai.example.com
listen: unix:none/a.sock
admin: { tokens: [{ name: a, hash: "sha256:${"ab".repeat(32)}" }], listen: unix:none/b.sock }
`,
  });
  const checked = await run(["check"], cwd);
  expect(checked).toMatchObject({ code: 0, stdout: "lintel.yaml: ok\n" });
  const state = join(cwd, "lintel.yaml", "x");
  expect(checked.stderr).toBe(
    `warning: state.directory: ${state} can't be written to now (ENOTDIR)
warning: listen: there is no folder ${join(cwd, "none")} now, and none is made for a socket
warning: admin.listen: there is no folder ${join(cwd, "none")} now, and none is made for a socket
`,
  );
  expect(readdirSync(cwd)).toEqual(["lintel.yaml"]);
});

test("a signal while a start waits for a bucket that hangs ends it, with 0", async () => {
  let ask: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const server = createServer(() => ask());
  closeAfter(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
media: { store: s3, s3: { bucket: pictures, endpoint: "${endpoint}", access_key_id: a, secret_access_key: b } }
`,
  });
  const lintel = start([], cwd);
  killAfter(lintel);
  await asked;
  lintel.kill("SIGTERM");
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
  expect(lintel.stderr).toMatch(/"signal":"SIGTERM","graceMs":0,"msg":"shutting down"/);
});

test("a signal while what is said at the start waits for a server that hangs ends it at once, with 0", async () => {
  const server = createServer(() => {});
  closeAfter(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cwd = folder({
    "lintel.yaml": `listen: unix:./lintel.sock
reload: watch
backends: [{ type: openai, name: hangs, url: "http://127.0.0.1:${port}" }]
`,
  });
  const lintel = start([], cwd, noSeconds);
  killAfter(lintel);
  const there = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(join(cwd, "lintel.sock"), () => resolve(void socket.destroy()));
      socket.on("error", reject);
    });
  await vi.waitFor(there, 20_000);
  lintel.kill("SIGTERM");
  expect(await lintel.ended).toEqual({ code: 0, signal: null });
  expect(lintel.stdout).toBe("");
});

test("a bucket that can't be reached is one line and 1", async () => {
  const cwd = folder({
    "lintel.yaml": `backends: []
listen: 127.0.0.1:0
media:
  store: s3
  s3:
    bucket: pictures
    endpoint: "http://127.0.0.1:1"
    access_key_id: a
    secret_access_key: b
`,
  });
  const { code, stderr } = await run([], cwd);
  expect(code).toBe(1);
  expect(stderr).toContain(
    "lintel: media.s3.bucket: pictures can't be used (connect ECONNREFUSED 127.0.0.1:",
  );
  expect(stderr).not.toContain("    at ");
});

/** Files of a folder in which Node finds none of some packages, and the option that makes it so. */
function without(...scopes: string[]) {
  const lacks = `const lacks = (name) => {
  if (!${JSON.stringify(scopes)}.includes(name.split("/")[0])) return;
  throw Object.assign(new Error(name), { code: "ERR_MODULE_NOT_FOUND" });
};`;
  const files = {
    "hooks.mjs": `${lacks}
export function resolve(name, context, next) {
  lacks(name);
  return next(name, context);
}`,
    // What is only looked for, the bundle looks for as CommonJS does.
    "lean.mjs": `${lacks}
import module from "node:module";
import * as hooks from "./hooks.mjs";
// Node 20 does not have the one, Node 26 warns of the other.
if (module.registerHooks) module.registerHooks(hooks);
else module.register("./hooks.mjs", import.meta.url);
const resolve = module._resolveFilename;
module._resolveFilename = (name, ...more) => {
  lacks(name);
  return resolve(name, ...more);
};`,
  };
  const options = (cwd: string) => `--import=${pathToFileURL(join(cwd, "lean.mjs"))}`;
  return { files, options };
}

test("check tells of missing packages where what is configured needs them", async () => {
  const { files, options } = without("@aws-sdk", "@photostructure");
  const cwd = folder({
    ...files,
    "lintel.yaml": `backends: []
media: { store: s3, s3: { bucket: pictures } }
safety: { checker: { type: nsfwjs } }
`,
    "other.yaml": `backends: []
media: { store: s3, delivery: data, s3: { bucket: pictures } }
usage: { enabled: false }
`,
  });
  const env = { NODE_OPTIONS: options(cwd) };
  const checked = await run(["check"], cwd, env);
  expect(checked).toMatchObject({ code: 0, stdout: "lintel.yaml: ok\n" });
  expect(checked.stderr).toContain(
    "warning: media.store: s3 needs a package that is not installed",
  );
  expect(checked.stderr).toContain("warning: safety.checker nsfwjs needs packages that are not");
  // Newer Node has a SQLite of its own.
  const own = Number.parseFloat(process.versions.node) >= 22.13;
  expect(checked.stderr.includes("the database's tokens would be off: this Node has")).toBe(!own);
  expect((await run(["check", "-c", "other.yaml"], cwd, env)).stderr).toBe(
    "warning: backends is empty: there is nothing to serve\n",
  );
});

test("a start that fails late ends, and leaves nothing behind", async () => {
  const { files, options } = without("@opentelemetry");
  const cwd = folder({
    "lintel.yaml": `backends: []
listen: 127.0.0.1:0
state: { redis: { url: "redis://127.0.0.1:1" } }
telemetry: { otlp: {} }
`,
    ...files,
  });
  mkdirSync(join(cwd, "tmp"));
  const env = {
    NODE_OPTIONS: options(cwd),
    TMPDIR: join(cwd, "tmp"),
    XDG_STATE_HOME: join(cwd, "lintel.yaml"),
  };
  const checked = await run(["check"], cwd, env);
  expect(checked).toMatchObject({ code: 0, stdout: "lintel.yaml: ok\n" });
  expect(checked.stderr).toContain("warning: telemetry.otlp needs packages that are not installed");
  expect(checked.stderr).toContain(
    `${env.XDG_STATE_HOME}/lintel can't be written to now (ENOTDIR)`,
  );
  const { code, stderr } = await run([], cwd, env);
  expect(stderr).toContain("lintel: telemetry.otlp needs packages that are not installed");
  expect(stderr).toContain("no folder for images");
  expect([code, readdirSync(join(cwd, "tmp"))]).toEqual([1, []]);
});
