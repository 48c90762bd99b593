/** A whole gateway as its operator has it: a configuration file, and what is said in the log. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { reload } from "../../src/cli/reload.js";
import { remark } from "../../src/cli/serving-gateway.js";
import { loadConfig } from "../../src/config/load.js";
import { start } from "../../src/gateway.js";

/** A line of its log. */
export interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/**
 * A real gateway on a file that the test rewrites; it runs until the test ends.
 * @param files more files beside it, by name
 */
export async function gateway(text: string, files: Readonly<Record<string, string>> = {}) {
  const cwd = mkdtempSync(join(tmpdir(), "lintel-gateway-"));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  const path = join(cwd, "lintel.yaml");
  const write = (next: string) => {
    // As editors do: a new file takes the place of the old one.
    const state = /^state:/m.test(next) ? "" : "state: { directory: state }\n";
    writeFileSync(`${path}.new`, `listen: 127.0.0.1:0\n${state}${next}`);
    renameSync(`${path}.new`, path);
  };
  write(text);
  const lines: Line[] = [];
  let heard = () => {};
  const say = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields: fields as Line["fields"] });
    heard();
  };
  const log = {
    level: "info",
    debug() {},
    info: say("info"),
    warn: say("warn"),
    error: say("error"),
  };
  const sources = { cwd, env: {} };
  const { config, file, text: loaded } = await loadConfig(sources);
  const running = await start(config, log);
  onTestFinished(async () => {
    await running.close(0);
    rmSync(cwd, { recursive: true });
  });
  const url = running.listeners[0]?.url ?? "";
  const reloadable = {
    get config() {
      return running.config;
    },
    reload: running.reload,
    reloaded: running.reloaded,
    remark: () => remark(running, log),
  };
  const options = { sources, running: reloadable, log, file, text: loaded };
  const chat = (model: string, content = "Hello", token = "me", more: object = {}) =>
    fetch(`${url}/llm`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...more },
      body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content }] }),
    });
  return {
    cwd,
    url,
    running,
    lines,
    write,
    options,
    chat,
    reload: () => reload(options, "test"),
    async said(message: string): Promise<Line> {
      for (;;) {
        const line = lines.find((one) => one.message === message);
        if (line) return line;
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
    },
  };
}
