/** Generators that can't read the rules of fields: the template of docs/contract.md leaves these out. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

const root = join(import.meta.dirname, "../..");
const bin = join(root, "node_modules/.bin");

it("makes code that imports neither rules nor annotations", () => {
  const out = mkdtempSync(join(tmpdir(), "lintel-without-rules-"));
  onTestFinished(() => rmSync(out, { recursive: true }));
  const page = readFileSync(join(root, "docs/contract.md"), "utf8");
  const [, template = ""] = /`client\.gen\.yaml`.*?```yaml\n(.*?)```/s.exec(page) ?? [];
  // The generator that npm brings stands in for protoc's.
  const file = join(out, "client.gen.yaml");
  writeFileSync(
    file,
    template.replace("protoc_builtin: php", "local: protoc-gen-es, opt: target=ts"),
  );

  execFileSync(join(bin, "buf"), ["generate", "--template", file, "-o", out], {
    cwd: root,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  });

  const made = join(out, "client/lintel/v1");
  const all = ["account_pb.ts", "chat_pb.ts", "image_pb.ts", "models_pb.ts", "tokens_pb.ts"];
  expect(readdirSync(made).sort()).toEqual(all);
  for (const name of readdirSync(made)) {
    const modules = [...readFileSync(join(made, name), "utf8").matchAll(/ from "(.*?)"/g)];
    expect(modules.filter(([, module = ""]) => !module.startsWith("@bufbuild/protobuf"))).toEqual(
      [],
    );
  }
}, 60_000);
