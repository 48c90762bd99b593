/** A file that is watched. */
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { reloadOnChange } from "../../src/cli/reload.js";
import { gateway } from "../support/gateway.js";
import { backend, modelServer, statusOf } from "./model-server.js";

test("a watched file applies when it is replaced", async () => {
  const [a, b] = [await modelServer("a"), await modelServer("b")];
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  const unwatch = await reloadOnChange(it.options);
  onTestFinished(unwatch);
  it.write(`backends:\n${backend("b", b.url)}`);
  expect((await it.said("configuration reloaded")).fields.why).toBe("lintel.yaml changed");
  expect(await statusOf(it.chat("b"))).toBe(200);
  // Long after that, too.
  const { now } = performance;
  const later = vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + 1e6);
  onTestFinished(() => later.mockRestore());
  it.lines.length = 0;
  it.write(`backends:\n${backend("a", a.url)}`);
  await it.said("configuration reloaded");
  expect(await statusOf(it.chat("a"))).toBe(200);
});

test("a watched file that is back as it was is looked at again where a signal was refused meanwhile, once", async () => {
  const text = "log: { level: info }\n";
  const it = await gateway(text);
  onTestFinished(await reloadOnChange(it.options));
  rmSync(join(it.cwd, "lintel.yaml"));
  await it.reload();
  const refused = "configuration not reloaded: the one before stays";
  await it.said(refused);
  it.write("nonsense: 1\n");
  await expect.poll(() => it.lines.filter(({ message }) => message === refused).length).toBe(2);
  it.write(text);
  await it.said("configuration reloaded");
  await it.reload();
  rmSync(join(it.cwd, "lintel.yaml"));
  await it.reload();
  it.lines.length = 0;
  it.write(text);
  await it.said("configuration reloaded");
});

test("a file that the text refers to is watched, too, and one that came with a change", async () => {
  const [a, b, c] = [await modelServer("a"), await modelServer("b"), await modelServer("c")];
  const text = (name: string) =>
    `backends: [{ type: openai, name: x, url: "\${file:${name}}" }]\n# \${file:none}\n`;
  const it = await gateway(text("url"), { url: `${a.url}\n`, other: c.url });
  onTestFinished(await reloadOnChange(it.options));
  expect(await statusOf(it.chat("a"))).toBe(200);
  writeFileSync(join(it.cwd, "url.new"), b.url);
  renameSync(join(it.cwd, "url.new"), join(it.cwd, "url"));
  expect((await it.said("configuration reloaded")).fields.why).toBe("url changed");
  expect(await statusOf(it.chat("b"))).toBe(200);
  it.lines.length = 0;
  it.write(text("other"));
  await it.said("configuration reloaded");
  expect(await statusOf(it.chat("c"))).toBe(200);
  it.lines.length = 0;
  writeFileSync(join(it.cwd, "other"), a.url);
  expect((await it.said("configuration reloaded")).fields.why).toBe("other changed");
  expect(await statusOf(it.chat("a"))).toBe(200);
});

/** How much is watched now. */
const watched = () =>
  process.getActiveResourcesInfo().filter((kind) => kind === "FSEventWrap").length;

const pem = (name: string) =>
  readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), "utf8");
const files = { "cert.pem": pem("cert"), "key.pem": pem("key") };

test.each([
  ["the file", "lintel.yaml", "", [0, 1]],
  ["a certificate", "cert.pem", "", [0, 1]],
  ["a certificate, and what was refused is the same", "cert.pem", "refused", [1, 1]],
  ["a key, and what was renewed is the same", "key.pem", "renewed", [0, 2]],
])("where %s is gone for a moment, nothing is tried again", async (_, name, before, tried) => {
  const it = await gateway("tls: { cert: cert.pem, key: key.pem }\n", files);
  onTestFinished(await reloadOnChange(it.options));
  const all = watched();
  const file = join(it.cwd, "lintel.yaml");
  const text = readFileSync(file, "utf8");
  const [refused, reloaded] = [
    "configuration not reloaded: the one before stays",
    "configuration reloaded",
  ];
  if (before === "refused") {
    writeFileSync(file, `${text}nonsense: 1\n`);
    await it.said(refused);
  } else if (before === "renewed") {
    for (const part of ["cert", "key"]) {
      writeFileSync(join(it.cwd, `${part}.pem`), pem(`renewed-${part}`));
    }
    await it.said(reloaded);
  }
  const path = join(it.cwd, name);
  const gone = readFileSync(path);
  rmSync(path);
  // It has looked again: what is not there is not watched.
  await expect.poll(watched).toBe(all - 1);
  // And has read what there is, as this has.
  await readFile(path).catch(() => {});
  writeFileSync(path, gone);
  await expect.poll(watched).toBe(all);
  await readFile(path);
  writeFileSync(file, `${text}expose_sources: true\n`);
  const changed = () => it.lines.filter(({ fields }) => `${fields.changed}` === "expose_sources");
  await expect.poll(changed).toHaveLength(1);
  const count = (told: string) => it.lines.filter(({ message }) => message === told).length;
  expect([count(refused), count(reloaded)]).toEqual(tried);
});

test("a watched file applies that is written from another folder, as one that is mounted", async () => {
  const it = await gateway("log: { level: info }\n");
  const elsewhere = join(it.cwd, "elsewhere");
  mkdirSync(elsewhere);
  linkSync(join(it.cwd, "lintel.yaml"), join(elsewhere, "lintel.yaml"));
  onTestFinished(await reloadOnChange(it.options));
  appendFileSync(join(elsewhere, "lintel.yaml"), "expose_sources: true\n");
  expect((await it.said("configuration reloaded")).fields.changed).toEqual(["expose_sources"]);
});

test("no more is watched after many changes than after the first, and nothing after the end", async () => {
  const it = await gateway("log: { level: info }\n");
  const before = watched();
  const unwatch = await reloadOnChange(it.options);
  const first = watched();
  expect(first).toBeGreaterThan(before);
  for (const more of ["expose_sources: true\n", "", "expose_sources: true\n"]) {
    it.lines.length = 0;
    it.write(more);
    await it.said("configuration reloaded");
    expect(watched()).toBe(first);
  }
  unwatch();
  await expect.poll(watched).toBe(before);
});

test("a watched file applies when it changes where a link leads, also after it was replaced there", async () => {
  const it = await gateway("log: { level: info }\n");
  const path = join(it.cwd, "lintel.yaml");
  const elsewhere = join(it.cwd, "elsewhere");
  const target = join(elsewhere, "lintel.yaml");
  mkdirSync(elsewhere);
  renameSync(path, target);
  symlinkSync(target, path);
  onTestFinished(await reloadOnChange(it.options));
  const text = readFileSync(target, "utf8");
  appendFileSync(target, "expose_sources: true\n");
  await it.said("configuration reloaded");
  it.lines.length = 0;
  writeFileSync(`${target}.new`, text);
  renameSync(`${target}.new`, target);
  await it.said("configuration reloaded");
  it.lines.length = 0;
  appendFileSync(target, "expose_sources: true\n");
  expect((await it.said("configuration reloaded")).fields.changed).toEqual(["expose_sources"]);
});

test("a watched file applies when it comes to be where a link leads, and when a link on the way leads elsewhere", async () => {
  const it = await gateway("log: { level: info }\n");
  const path = join(it.cwd, "lintel.yaml");
  const text = readFileSync(path, "utf8");
  const [first, second] = [join(it.cwd, "releases/1"), join(it.cwd, "releases/2")];
  for (const folder of [first, second]) mkdirSync(folder, { recursive: true });
  renameSync(path, join(second, "lintel.yaml"));
  const current = join(it.cwd, "releases/current");
  symlinkSync("1", current);
  symlinkSync("releases/current/lintel.yaml", path);
  onTestFinished(await reloadOnChange(it.options));
  writeFileSync(join(first, "lintel.yaml"), `${text}expose_sources: true\n`);
  expect((await it.said("configuration reloaded")).fields.changed).toEqual(["expose_sources"]);
  it.lines.length = 0;
  symlinkSync("2", `${current}.new`);
  renameSync(`${current}.new`, current);
  expect((await it.said("configuration reloaded")).fields.changed).toEqual(["expose_sources"]);
});

test("a file that can't be watched leaves the gateway serving, with a word in the log", async () => {
  const a = await modelServer("a");
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  const sources = { ...it.options.sources, cwd: "/there/is/no/such/folder" };
  onTestFinished(await reloadOnChange({ ...it.options, sources }));
  expect(it.lines.map(({ message }) => message)).toContain(
    "the configuration's file can't be watched: send SIGHUP",
  );
  expect(await statusOf(it.chat("a"))).toBe(200);
});

test("a watched file applies that changed while the gateway started", async () => {
  const [a, b] = [await modelServer("a"), await modelServer("b")];
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  it.write(`backends:\n${backend("b", b.url)}`);
  onTestFinished(await reloadOnChange(it.options));
  expect(it.lines.map(({ message }) => message)).toContain("configuration reloaded");
  expect(await statusOf(it.chat("b"))).toBe(200);
});

test("a watched file applies while a log in its folder is written all the time", async () => {
  const [a, b] = [await modelServer("a"), await modelServer("b")];
  const it = await gateway(`backends:\n${backend("a", a.url)}`);
  const log = join(it.options.sources.cwd ?? "", "lintel.log");
  const writing = setInterval(() => appendFileSync(log, "a line\n"), 20);
  onTestFinished(() => clearInterval(writing));
  onTestFinished(await reloadOnChange(it.options));
  it.write(`backends:\n${backend("b", b.url)}`);
  await it.said("configuration reloaded");
  expect(await statusOf(it.chat("b"))).toBe(200);
});
