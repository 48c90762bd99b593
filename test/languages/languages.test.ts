/**
 * Clients of other languages, unmodified or made from proto/ alone. They run
 * where `LINTEL_LANGUAGES` says so (CI does), because they need toolchains and
 * packages beyond npm: `LINTEL_PYTHON` is a Python that has requirements.txt
 * installed, Go and curl are taken from the PATH.
 */
import { execFile, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { administered, secret } from "../admin/gateway.js";
import { tableBackend, tableSettings } from "../contract/backend.js";
import { type Lintel, startLintel } from "../support/lintel.js";

const run = promisify(execFile);
const here = import.meta.dirname;
const proto = join(here, "../../proto");
const buf = join(here, "../../node_modules/.bin/buf");
const python = process.env.LINTEL_PYTHON ?? "python3";

const wanted = Boolean(process.env.LINTEL_LANGUAGES);
const has = (command: string, ...args: string[]) =>
  wanted && spawnSync(command, args, { stdio: "ignore" }).status === 0;
const hasPython = has(
  python,
  "-c",
  "import grpc, grpc_tools, grpc_status, openai, anthropic, livepeer_ai, google.genai",
);
const hasGo = has("go", "version");
const hasCurl = has("curl", "--version");
const why = wanted ? "not installed here" : "LINTEL_LANGUAGES is not set";

let lintel: Lintel;
let work: string;
beforeAll(async () => {
  lintel = await startLintel([tableBackend()], { settings: tableSettings });
  work = mkdtempSync(join(tmpdir(), "lintel-languages-"));
});
afterAll(async () => {
  await lintel.close();
  rmSync(work, { recursive: true, force: true });
});

/** Building clients takes its time on a cold cache. */
const patience = { timeout: 900_000 };

describe.skipIf(!hasPython)(`Python${hasPython ? "" : ` (skipped: ${why})`}`, () => {
  it("the openai, anthropic, google-genai and livepeer-ai SDKs, unmodified", patience, async () => {
    const { stdout } = await run(python, [join(here, "python/rest_clients.py"), lintel.url]);
    expect(stdout).toBe("ok\n");
  });

  it("grpcio, made from proto/, calls and administers", patience, async () => {
    const out = join(work, "python");
    mkdirSync(out);
    const files = [
      "lintel/admin/v1/tokens",
      "lintel/v1/chat",
      "lintel/v1/image",
      "lintel/v1/models",
      "lintel/v1/rules",
      "buf/validate/validate",
    ];
    const protos = files.map((file) => `${file}.proto`);
    await run(python, [
      "-m",
      "grpc_tools.protoc",
      "-I",
      proto,
      `--python_out=${out}`,
      `--grpc_python_out=${out}`,
      ...protos,
    ]);
    const env = { ...process.env, PYTHONPATH: out };
    const { stdout } = await run(python, [join(here, "python/grpc_client.py"), lintel.address], {
      env,
    });
    expect(stdout).toBe("ok\n");
    const { adminUrl } = await administered();
    const program = join(here, "python/admin_client.py");
    const admin = await run(python, [program, new URL(adminUrl).host, secret], { env });
    expect(admin.stdout).toBe("ok\n");
  });

  it("grpcio, as docs/contract.md has it", patience, async () => {
    const page = readFileSync(join(here, "../../docs/contract.md"), "utf8");
    const [, commands = ""] = /```sh\npip install grpcio-tools\n(.*?)```/s.exec(page) ?? [];
    const [, program = ""] = /```python\n# client\/ask\.py\n(.*?)```/s.exec(page) ?? [];
    const cwd = join(work, "page");
    mkdirSync(cwd);
    symlinkSync(proto, join(cwd, "proto"));
    await run("bash", ["-euc", commands.replace("python ", `${python} `)], { cwd });
    writeFileSync(
      join(cwd, "client/ask.py"),
      program.replace("127.0.0.1:8080", lintel.address).replace("Bearer me", "Bearer all"),
    );
    const { stdout } = await run(python, [join(cwd, "client/ask.py")]);
    expect(stdout).toBe("Hello, wörld 🌍");
  });
});

describe.skipIf(!hasGo)(`Go${hasGo ? "" : ` (skipped: ${why})`}`, () => {
  it("grpc-go, made from proto/, calls and administers", patience, async () => {
    const cwd = join(work, "go");
    cpSync(join(here, "go"), cwd, { recursive: true });
    await run(buf, ["generate", proto, "--template", "buf.gen.yaml"], { cwd });
    await run("go", ["build", "-o", "client", "."], { cwd });
    const client = join(cwd, "client");
    const { stdout } = await run(client, [lintel.address]);
    expect(stdout).toBe("ok\n");
    const { adminUrl } = await administered();
    const admin = await run(client, [new URL(adminUrl).host, secret]);
    expect(admin.stdout).toBe("ok\n");
  });
});

describe.skipIf(!hasCurl)(`curl${hasCurl ? "" : ` (skipped: ${why})`}`, () => {
  const headers = ["-H", "Authorization: Bearer all", "-H", "Content-Type: application/json"];
  const body = ["-d", '{"messages":[{"role":"user","content":"Hello"}],"stream":true}'];
  it.each(["--http1.1", "--http2-prior-knowledge"])("streams with %s", async (version) => {
    const { stdout } = await run("curl", [
      "-sSN",
      version,
      `${lintel.url}/llm`,
      ...headers,
      ...body,
    ]);
    expect(stdout).toContain('data: {"id":"chatcmpl-');
    expect(stdout.trimEnd().endsWith("data: [DONE]")).toBe(true);
  });
});

it("buf curl speaks gRPC by reflection alone", async () => {
  const { stdout } = await run(buf, [
    "curl",
    "--protocol",
    "grpc",
    "--http2-prior-knowledge",
    "-H",
    "Authorization: Bearer all",
    "-d",
    '{"messages":[{"role":"user","content":"Hello"}]}',
    `${lintel.url}/lintel.v1.ChatService/Chat`,
  ]);
  // Messages are printed as indented JSON, one after the other.
  const texts = [...stdout.matchAll(/"content": (".*")/g)].map(([, text = ""]) => JSON.parse(text));
  expect(texts.join("")).toBe("Hello, wörld 🌍");
});
