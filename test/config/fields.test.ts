// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so
/** What commands read of a configuration that need only a part of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadFields } from "../../src/config/load.js";
import { ConfigError, formatProblem } from "../../src/config/problems.js";

const fields = ["state.directory", "state.refresh", "auth", "telemetry.top"] as const;

function fileOf(text: string) {
  const cwd = mkdtempSync(join(tmpdir(), "lintel-fields-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, "lintel.yaml"), text);
  return cwd;
}

const load = (text: string, env: Record<string, string> = {}) => {
  const cwd = fileOf(text);
  return loadFields(fields, { cwd, env }).then((loaded) => ({ cwd, ...loaded }));
};

async function problems(text: string): Promise<string[]> {
  const error = await load(text).catch((error: unknown) => error);
  if (!(error instanceof ConfigError)) throw error;
  return error.problems.map(formatProblem);
}

describe("some fields of a configuration", () => {
  test("are read whatever stands elsewhere, which is as if it were not there", async () => {
    const { cwd, config, file } = await load(
      `bakends: []
backends: [{ type: openai, name: a, url: "http://127.0.0.1:1", api_key: "\${NO_KEY}" }]
limits: 5
state:
  directory: \${FOLDER}
  database: postgres://\${NO_USER}@db/lintel
  redis: { url: "\${NO_REDIS}", surprise: true }
  refresh: 3s
telemetry: { top: false, otlp: { endpoint: nowhere } }
auth: { mode: token, tokens: [{ name: me, hash: "sha256:${"0".repeat(64)}" }] }
`,
      // Nor do addresses matter.
      { FOLDER: "kept", HOST: "no host", PORT: "x" },
    );
    expect(file).toBe("lintel.yaml");
    expect(config.state).toMatchObject({
      directory: join(cwd, "kept"),
      refresh: 3000,
      database: "sqlite",
    });
    expect(config.state.redis).toBeUndefined();
    expect(config.telemetry.top).toBe(false);
    expect(config.auth).toMatchObject({ mode: "token", tokens: [{ name: "me" }] });
  });

  test("are the defaults where there is no file", async () => {
    const cwd = fileOf("");
    rmSync(join(cwd, "lintel.yaml"));
    const { config, file } = await loadFields(fields, { cwd, env: {} });
    expect([file, config.telemetry.top, config.auth.mode]).toEqual([undefined, true, "public"]);
  });

  test("have mistakes that are told, with those of what they stand in", async () => {
    expect(
      await problems(
        "state: { directory: '${GONE}', refresh: soon }\nauth: { mode: nobody, tokns: [] }\n",
      ),
    ).toEqual([
      expect.stringMatching(/^lintel\.yaml:1:21: state\.directory: .* GONE is not set/),
      expect.stringMatching(/^lintel\.yaml:1:41: state\.refresh: must be a duration/),
      expect.stringMatching(/^lintel\.yaml:2:15: auth\.mode: must be/),
      expect.stringMatching(/^lintel\.yaml:2:23: auth\.tokns: unknown key/),
    ]);
    expect(await problems("telemetry: 5")).toEqual([
      expect.stringMatching(/^lintel\.yaml:1:12: telemetry: must be a mapping/),
    ]);
    expect(await problems("state: '${GONE}'")).toEqual([
      expect.stringMatching(/^lintel\.yaml:1:8: state: .* GONE is not set/),
    ]);
    expect(await problems("backends: [\n")).toEqual([
      expect.stringMatching(/^lintel\.yaml:1:11: the \[ here has no \]/),
    ]);
    expect(await problems("[]")).toEqual([expect.stringContaining("must be a mapping")]);
  });
});
