/** What is generated, where that fails. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** As much of the repository as generating takes, with a source that can't be compiled. */
function broken() {
  const home = mkdtempSync(join(tmpdir(), "lintel-generate-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const names = ["buf.yaml", "package.json", "proto", "scripts", "tsconfig.build.json"];
  for (const name of [...names, "buf.gen.yaml", "tsconfig.json"]) {
    cpSync(join(root, name), join(home, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(home, "node_modules"));
  mkdirSync(join(home, "gen/lintel/v1"), { recursive: true });
  mkdirSync(join(home, "src"));
  writeFileSync(join(home, "src/main.ts"), "const = ;\n");
  writeFileSync(join(home, "gen/openapi.json"), "of before");
  writeFileSync(join(home, "gen/lintel/v1/gone_pb.ts"), "");
  const generate = (...args: string[]) =>
    spawnSync(process.execPath, [join(home, "scripts/generate.js"), ...args], { encoding: "utf8" });
  return { home, generate };
}

test("sources that can't be compiled lose nothing, and are given what the proto says now", () => {
  const { home, generate } = broken();
  expect(generate().status).toBe(1);
  const now = (name: string) => readFileSync(join(home, name), "utf8");
  expect(now("gen/openapi.json")).toBe("of before");
  const made = "gen/lintel/v1/chat_pb.ts";
  expect(now(made)).toBe(readFileSync(join(root, made), "utf8"));
  expect(existsSync(join(home, "gen/lintel/v1/gone_pb.ts"))).toBe(false);
});

test("a proto that can't be read changes nothing", () => {
  const { home, generate } = broken();
  writeFileSync(join(home, "proto/lintel/v1/chat.proto"), "no proto");
  expect(generate().status).not.toBe(0);
  expect(readFileSync(join(home, "gen/openapi.json"), "utf8")).toBe("of before");
  expect(existsSync(join(home, "gen/lintel/v1/gone_pb.ts"))).toBe(true);
  expect(existsSync(join(home, "gen/lintel/v1/chat_pb.ts"))).toBe(false);
});
