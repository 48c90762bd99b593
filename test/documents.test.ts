/** What the documents name is there: configurations, keys, options of commands, scripts, links. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { backup } from "../src/cli/backup.js";
import { chat } from "../src/cli/chat.js";
import { check } from "../src/cli/check.js";
import type { Command } from "../src/cli/command.js";
import { image } from "../src/cli/image.js";
import { models } from "../src/cli/models.js";
import { node } from "../src/cli/node.js";
import { ownTokens } from "../src/cli/own-tokens.js";
import { schema } from "../src/cli/schema.js";
import { serve } from "../src/cli/serve.js";
import { tokens } from "../src/cli/tokens.js";
import { top } from "../src/cli/top.js";
import { usage } from "../src/cli/usage.js";
import { configJsonSchema } from "../src/config/json-schema.js";
import { mistakes, valid, valueFor } from "./config/text.js";

const root = join(import.meta.dirname, "..");
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "bench/README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => !name.endsWith(".png"))
    .map((name) => `docs/${name}`),
].map((name) => ({ name, text: readFileSync(join(root, name), "utf8") }));
const blocks = (language: string) =>
  pages.flatMap(({ name, text }) =>
    [...text.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "gs"))].map(
      ([, block = ""], i) => ({ where: `${name}, number ${i + 1}`, block }),
    ),
  );

describe("configurations", () => {
  // What stands elsewhere: backends that a sample of `models` is about, files of workflows and certificates.
  const elsewhere =
    /there is no backend "|the (?:workflow|file) \S+ (?:does not exist|is not there)$/;
  // Buf's template has a test of its own.
  const own = blocks("yaml").filter(({ block }) => !block.startsWith("version: v2\n"));
  it.each(own)("$where", ({ block }) => {
    const names = [...block.matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => [name, valueFor(name)]);
    const env = { ...Object.fromEntries(names), DATABASE_URL: "postgres://it/lintel" };
    expect(mistakes(block, env).filter((line) => !elsewhere.test(line))).toEqual([]);
  });
});

describe("the manifest for Kubernetes", () => {
  const manifest = readFileSync(join(root, "docs/kubernetes.yaml"), "utf8");
  // biome-ignore lint/suspicious/noExplicitAny: a test of what stands there.
  const of = (kind: string): any =>
    parseAllDocuments(manifest)
      .map((each) => each.toJS())
      .find((each) => each.kind === kind);
  const { spec: pod } = of("Deployment").spec.template;
  const [container] = pod.containers;

  it("has a configuration, which finds its secrets", () => {
    const text = of("ConfigMap").data["lintel.yaml"];
    expect(mistakes(text, of("Secret").stringData)).toEqual([]);
    expect(mistakes(text, {})).not.toEqual([]);
    const [{ mountPath }] = container.volumeMounts;
    expect(container.env[0]).toEqual({ name: "LINTEL_CONFIG", value: `${mountPath}/lintel.yaml` });
  });

  it("lets the image be as the Dockerfile makes it", () => {
    const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
    const [, user] = /^USER (\d+):/m.exec(dockerfile) ?? [];
    expect(pod.securityContext.fsGroup).toBe(Number(user));
    expect(dockerfile).toContain(`PORT=${container.ports[0].containerPort} `);
    expect(dockerfile).toContain(`VOLUME ${container.volumeMounts[1].mountPath}\n`);
  });

  it("has room for PDFs that are read, whatever they are: all of a pod may end for want of it", () => {
    const { documents } = valid(of("ConfigMap").data["lintel.yaml"], of("Secret").stringData);
    const mebibytes = (size: string) => Number(/^(\d+)Mi$/.exec(size)?.[1]);
    const { requests, limits } = container.resources;
    // Besides what it may take, Node is in each process.
    const reading = documents.at_once * (documents.memory / 2 ** 20 + 64);
    expect(mebibytes(requests.memory) + reading).toBeLessThanOrEqual(mebibytes(limits.memory));
  });

  it("waits for calls that end", () => {
    const pause = Number(container.lifecycle.preStop.exec.command[1]);
    const { timeouts } = valid("{}");
    expect(pod.terminationGracePeriodSeconds).toBe(pause + timeouts.shutdown / 1000 + 10);
  });
});

it("keys with their sections are those of the configuration", () => {
  type Node = {
    properties?: Record<string, Node>;
    items?: Node;
    anyOf?: Node[];
    oneOf?: Node[];
  };
  const known = new Set<string>();
  const visit = (at: Node, path: string) => {
    for (const inner of [at.items, ...(at.anyOf ?? []), ...(at.oneOf ?? [])]) {
      if (inner) visit(inner, path);
    }
    for (const [key, value] of Object.entries(at.properties ?? {})) {
      known.add(path + key);
      visit(value, `${path}${key}.`);
    }
  };
  const whole = configJsonSchema() as Node;
  visit(whole, "");
  const sections = Object.keys(whole.properties ?? {}).join("|");
  const named = new RegExp(`\`((?:${sections})(?:\\[\\])?(?:\\.[a-z_0-9]+)+)(?::[^\`]*)?\``, "g");
  const found = pages.flatMap(({ text }) => [...text.matchAll(named)].map(([, key = ""]) => key));
  expect(found.length).toBeGreaterThan(30);
  expect(found.filter((key) => !known.has(key.replace("[]", "")))).toEqual([]);
});

it("commands have the options that they are given", () => {
  const commands: Record<string, Command> = {
    ...{ backup, chat, check, image, models, node, schema, serve, top, usage },
    ...Object.fromEntries(
      Object.entries({ tokens, "own-tokens": ownTokens }).flatMap(([group, { commands }]) =>
        Object.entries(commands).map(([name, command]) => [`${group} ${name}`, command]),
      ),
    ),
  };
  const used = blocks("sh").flatMap(({ block }) =>
    block
      .replace(/\\\n/g, " ")
      .split("\n")
      .flatMap((line) => [
        ...line.matchAll(/(?:npx lintel|main\.js) +((?:(?:own-)?tokens )?\w+)([^#]*)/g),
      ])
      .map(([, name = "", rest = ""]) => ({
        name,
        options: [...rest.matchAll(/ --([\w-]+)/g)].map(([, option = ""]) => option),
      })),
  );
  expect(used.length).toBeGreaterThan(15);
  for (const { name, options } of used.filter((one) => one.name !== "help")) {
    expect({ name, known: Object.keys(commands) }).toMatchObject({
      known: expect.arrayContaining([name]),
    });
    expect(Object.keys(commands[name]?.options ?? {})).toEqual(expect.arrayContaining(options));
  }
});

it("scripts of npm are there, and each is named", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const all = pages.map(({ text }) => text).join("\n");
  const named = new Set([...all.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name));
  expect([...named].filter((name = "") => !(name in scripts))).toEqual([]);
  const otherwise = ["prepare", "start", "test"];
  const unnamed = Object.keys(scripts).filter((name) => !new RegExp(`[\` ]${name}\\b`).test(all));
  expect(unnamed.filter((name) => !otherwise.includes(name))).toEqual([]);
});

it("links lead to files and headings that are there", () => {
  const anchorsOf = (text: string) =>
    [...text.replace(/```.*?```/gs, "").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    );
  const broken = pages.flatMap(({ name, text }) =>
    [...text.matchAll(/\]\((?!http)([^)#]*)(?:#([^)]+))?\)/g)].flatMap(([, path = "", anchor]) => {
      const file = path === "" ? join(root, name) : join(root, dirname(name), path);
      if (!existsSync(file)) return [`${name}: ${path}`];
      if (anchor === undefined || anchorsOf(readFileSync(file, "utf8")).includes(anchor)) return [];
      return [`${name}: ${path}#${anchor}`];
    }),
  );
  expect(broken).toEqual([]);
});
