import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PNG } from "pngjs";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { defaultDirectory, openDirectory } from "../../src/media/directory.js";
import {
  type FilesystemMedia,
  type FilesystemSettings,
  filesystemMedia,
} from "../../src/media/filesystem.js";
import { inlineMedia } from "../../src/media/inline.js";
import { FakeClock } from "../support/clock.js";
import { bytesOf, nameIn, storeContract } from "./contract.js";

const hour = 3_600_000;
const open: FilesystemMedia[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

const folder = () => mkdtempSync(join(tmpdir(), "lintel-store-"));

/** A store with a clock that the test moves. */
async function storeOf(settings: Partial<FilesystemSettings> = {}) {
  const clock = { now: Date.UTC(2030, 0, 1) };
  const store = await filesystemMedia({
    directory: folder(),
    ttlMs: 24 * hour,
    maxBytes: 1000,
    baseUrl: () => "https://ai.example.com/lintel",
    log: silent,
    now: () => clock.now,
    ...settings,
  });
  open.push(store);
  await store.sweep();
  return { store, clock, files: () => readdirSync(store.directory).sort() };
}

const bytes = (size: number) => Buffer.alloc(size, 7);

storeContract("filesystem", async () => (await storeOf()).store);

describe("age", () => {
  test("an image is served until it is as old as allowed, swept or not", async () => {
    const { store, clock, files } = await storeOf({ ttlMs: 2 * hour });
    const name = nameIn(await store.put(bytes(3)));
    clock.now += 2 * hour - 1;
    expect(await bytesOf(store, name)).toEqual(bytes(3));
    clock.now += 1;
    expect(await store.get(name)).toBeUndefined();
    expect(files()).toEqual([name]);
    await store.sweep();
    expect(files()).toEqual([]);
  });

  test("one that goes while the others are looked at keeps none of them", async () => {
    const { store, clock, files } = await storeOf();
    // As one that another gateway deletes: it is listed, and can't be looked at.
    const gone = `${"0".repeat(32)}.png`;
    symlinkSync("nowhere", join(store.directory, gone));
    await store.put(bytes(3));
    clock.now += 25 * hour;
    await store.sweep();
    expect(files()).toEqual([gone]);
  });

  test("what is too old at the start goes", async () => {
    const { store, clock } = await storeOf();
    await store.put(bytes(3));
    const later = await storeOf({
      directory: store.directory,
      now: () => clock.now + 25 * hour,
    });
    expect(later.files()).toEqual([]);
  });
});

test.runIf(process.platform === "linux")("one that is too old is held open by nobody", async () => {
  const { store, clock } = await storeOf();
  const name = nameIn(await store.put(bytes(3)));
  clock.now += 25 * hour;
  expect(await store.get(name)).toBeUndefined();
  const opened = readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return [];
    }
  });
  expect(opened).not.toContain(join(realpathSync(store.directory), name));
});

test("one that could not be written whole leaves nothing behind", async () => {
  const { store, clock, files } = await storeOf();
  // A time that no file can have.
  clock.now = Number.NaN;
  await expect(store.put(bytes(3))).rejects.toMatchObject({ code: "internal" });
  expect(files()).toEqual([]);
});

test("after the end of the store its images stay, however old they get", async () => {
  const { store, clock, files } = await storeOf();
  await store.put(bytes(3));
  await store.close();
  clock.now += 25 * hour;
  await store.sweep();
  expect(files()).toHaveLength(1);
});

describe("a folder that takes no images", () => {
  /** A store whose folder another's file stands in the place of. */
  async function blocked() {
    const said: object[] = [];
    const tell = (fields: object, message: string) => void said.push({ ...fields, message });
    const log = { ...silent, warn: tell, info: tell };
    const time = new FakeClock();
    const { store } = await storeOf({ log, clock: time });
    rmSync(store.directory, { recursive: true });
    writeFileSync(store.directory, "");
    await expect(store.put(bytes(3))).rejects.toMatchObject({ code: "internal" });
    return { store, said, time };
  }

  test("is told of once, and asked now and then whether it takes them again", async () => {
    const { store, said, time } = await blocked();
    await expect(store.put(bytes(3))).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/^(ENOTDIR|EEXIST)$/) },
    });
    expect(store.state).toMatchObject({ away: true, outages: 1 });
    const away = { store: "images", message: "the folder of images is away" };
    expect(said).toEqual([{ ...away, reason: expect.stringContaining(store.directory) }]);
    rmSync(store.directory);
    await time.advance(1000);
    await vi.waitFor(() => expect(store.state?.away).toBe(false));
    expect(said.at(-1)).toEqual({ store: "images", message: "the folder of images is back" });
    // What was written to see that is not left there.
    await vi.waitFor(() => expect(readdirSync(store.directory)).toEqual([]));
  });

  test("is asked nothing after the end", async () => {
    const { store, time } = await blocked();
    expect(time.timers).toBe(1);
    await store.close();
    expect(time.timers).toBe(0);
  });

  test("is back with the next image that it takes", async () => {
    const { store, time } = await blocked();
    rmSync(store.directory);
    const name = nameIn(await store.put(bytes(3)));
    expect(store.state).toMatchObject({ away: false, outages: 1 });
    expect(time.timers).toBe(0);
    expect(await bytesOf(store, name)).toEqual(bytes(3));
  });
});

describe("total size", () => {
  test("the oldest go before it is passed, never the newest", async () => {
    const { store, clock, files } = await storeOf({ maxBytes: 1000 });
    const names: string[] = [];
    for (let i = 0; i < 8; i++) {
      clock.now += 1000;
      names.push(nameIn(await store.put(bytes(300))));
      expect(files().length * 300).toBeLessThanOrEqual(1000);
      expect(files()).toContain(names.at(-1));
    }
    // Room is made for more than one image at a time, so that not every one sweeps.
    const left = names.filter((name) => files().includes(name));
    expect(left.length).toBeGreaterThanOrEqual(2);
    expect(left).toEqual(names.slice(-left.length));
  });

  test("the log hears of images that go before they can be fetched, from time to time", async () => {
    const said: object[] = [];
    const log = {
      ...silent,
      warn: (fields: object, message: string) => void said.push({ ...fields, message }),
    };
    const { store, clock } = await storeOf({ maxBytes: 1000, log });
    const put = async () => {
      for (let i = 0; i < 4; i++) await store.put(bytes(300));
    };
    await put();
    const warning = {
      count: 1,
      maxBytes: 1000,
      message: "images had to go within a minute: media.max_bytes is too small for what is made",
    };
    expect(said).toEqual([warning]);
    await put();
    expect(said).toEqual([warning]);
    clock.now += hour;
    await store.put(bytes(300));
    await store.put(bytes(300));
    expect(said).toEqual([warning]);
    await put();
    expect(said).toHaveLength(2);
  });

  test("what a clock that ran ahead has stored goes before what came later", async () => {
    const { store, clock, files } = await storeOf({ maxBytes: 1000 });
    const expired = nameIn(await store.put(bytes(10)));
    clock.now += 48 * hour;
    const ahead: string[] = [];
    for (let i = 0; i < 3; i++) ahead.push(nameIn(await store.put(bytes(300))));
    clock.now -= 20 * hour;
    const names: string[] = [];
    for (let i = 0; i < 3; i++) {
      clock.now += 1000;
      names.push(nameIn(await store.put(bytes(300))));
    }
    expect(files()).toEqual([...names].sort());
    expect(files()).not.toContain(expired);
  });

  test("images that come at the same time count too", async () => {
    const { store, files } = await storeOf({ maxBytes: 1000 });
    await Promise.all([1, 2, 3].map(() => store.put(bytes(300))));
    await Promise.all([1, 2, 3].map(() => store.put(bytes(300))));
    await store.sweep();
    expect(files().length * 300).toBeLessThanOrEqual(1000);
  });
});

describe("an image that can't be deleted", () => {
  const stuck = `${"d".repeat(32)}.png`;
  /** A folder in the place of the oldest image: not even root unlinks it. */
  async function stuckStore(settings: Partial<FilesystemSettings> = {}) {
    const directory = folder();
    await mkdir(join(directory, stuck));
    utimesSync(join(directory, stuck), 1, 1);
    const said: object[] = [];
    const log = {
      ...silent,
      error: (fields: object, message: string) => void said.push({ ...fields, message }),
    };
    const maxBytes = statSync(join(directory, stuck)).size + 1000;
    return { ...(await storeOf({ directory, maxBytes, log, ...settings })), said };
  }

  test("does not keep others for longer, and each sweep says so once", async () => {
    const { store, clock, files, said } = await stuckStore({ ttlMs: hour });
    await store.put(bytes(3));
    clock.now += hour;
    said.length = 0;
    await store.sweep();
    expect(files()).toEqual([stuck]);
    expect(said).toMatchObject([{ message: "images could not be deleted", name: stuck, count: 1 }]);
  });

  test("counts, and the others make room", async () => {
    const { store, clock, files } = await stuckStore();
    let newest = "";
    for (let i = 0; i < 8; i++) {
      clock.now += 1000;
      newest = nameIn(await store.put(bytes(300)));
      expect((files().length - 1) * 300).toBeLessThanOrEqual(1000);
      expect(files()).toContain(newest);
    }
    expect(files()).toContain(stuck);
  });

  test("may be what a process that died left half written", async () => {
    const directory = folder();
    const draft = `.${"e".repeat(32)}.png.tmp`;
    await mkdir(join(directory, draft));
    utimesSync(join(directory, draft), 1, 1);
    const { store, clock, files } = await storeOf({ directory, maxBytes: 1e6 });
    await store.put(bytes(3));
    clock.now += 24 * hour;
    await store.sweep();
    expect(files()).toEqual([draft]);
  });
});

describe("the folder", () => {
  test("what a process that died left half written goes, what another writes now stays", async () => {
    const directory = folder();
    const old = `.${"a".repeat(32)}.png.tmp`;
    const fresh = `.${"b".repeat(32)}.png.tmp`;
    for (const name of [old, fresh]) writeFileSync(join(directory, name), "half");
    const now = Date.UTC(2030, 0, 1) / 1000;
    utimesSync(join(directory, old), now - 61, now - 61);
    utimesSync(join(directory, fresh), now - 5, now - 5);
    const { store, files } = await storeOf({ directory });
    expect(files()).toEqual([fresh]);
    expect(await store.get(fresh)).toBeUndefined();
  });

  test("other people's files in it are neither served nor removed", async () => {
    const directory = folder();
    const others = ["notes.txt", "photo.png", "x.tmp", `${"a".repeat(32)}.html`];
    for (const name of others) {
      writeFileSync(join(directory, name), "mine");
      utimesSync(join(directory, name), 1, 1);
    }
    const { store, files } = await storeOf({ directory, maxBytes: 1 });
    expect(files()).toEqual([...others].sort());
    for (const name of others) {
      expect(await store.get(name)).toBeUndefined();
      await store.delete(name);
    }
    expect(files()).toEqual([...others].sort());
  });

  test("no name leads out of it", async () => {
    const directory = folder();
    const secret = `${"c".repeat(32)}.png`;
    writeFileSync(join(directory, secret), "secret");
    await mkdir(join(directory, "inner"));
    const { store } = await storeOf({ directory: join(directory, "inner") });
    for (const name of [
      `../${secret}`,
      `..%2f${secret}`,
      join(directory, secret),
      `${secret}\0.png`,
      `x/../../${secret}`,
      `${secret}\n`,
      "",
      ".",
      "..",
    ]) {
      expect(await store.get(name)).toBeUndefined();
      await store.delete(name);
    }
    expect(readFileSync(join(directory, secret), "utf8")).toBe("secret");
  });

  test("one that vanished has no images, and is made again for the next", async () => {
    const errors: object[] = [];
    const log = { ...silent, error: (fields: object) => errors.push(fields) };
    const { store } = await storeOf({ directory: join(folder(), "sub"), log });
    rmSync(dirname(store.directory), { recursive: true });
    await store.sweep();
    expect(errors).toEqual([]);
    const name = nameIn(await store.put(bytes(3)));
    expect(await bytesOf(store, name)).toEqual(bytes(3));
    expect(statSync(store.directory).mode & 0o777).toBe(0o700);
  });

  test("one that can't be written to is an error without its path", async () => {
    const { store } = await storeOf({ directory: join(folder(), "sub") });
    rmSync(store.directory, { recursive: true });
    writeFileSync(store.directory, "not a folder");
    await expect(store.put(bytes(3))).rejects.toMatchObject({
      code: "internal",
      message: "the image could not be stored",
    });
  });

  test("is in the user's state folder, or a temporary one with a warning", async () => {
    expect(defaultDirectory({ XDG_STATE_HOME: "/state" })).toBe("/state/lintel/media");
    expect(defaultDirectory({ XDG_STATE_HOME: "state" })).toBe(defaultDirectory({}));
    expect(defaultDirectory({})).toMatch(/\.local\/state\/lintel\/media$/);
    const file = join(folder(), "file");
    writeFileSync(file, "");
    const warnings: string[] = [];
    const log = { ...silent, warn: (_: object, message: string) => void warnings.push(message) };
    const opened = await openDirectory(undefined, log, join(file, "media"));
    expect(opened).toMatchObject({ temporary: true });
    expect(warnings).toEqual(["no folder for images, they are lost at the end"]);
    await expect(openDirectory(join(file, "media"), log)).rejects.toThrow("media.directory");
  });

  test("that was named stays with all that is in it when its store is closed", async () => {
    const { store, files } = await storeOf();
    const name = nameIn(await store.put(bytes(5)));
    await store.close();
    expect(files()).toEqual([name]);
    const { store: next } = await storeOf({ directory: store.directory });
    expect(await bytesOf(next, name)).toEqual(bytes(5));
  });

  test("that is temporary goes with its store", async () => {
    const file = join(folder(), "file");
    writeFileSync(file, "");
    vi.stubEnv("XDG_STATE_HOME", file);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { store, files } = await storeOf({ directory: undefined });
    await store.put(bytes(3));
    expect(files()).toHaveLength(1);
    await store.close();
    expect(existsSync(store.directory)).toBe(false);
  });

  test("has images that only their owner may read", async () => {
    const { store } = await storeOf();
    const name = nameIn(await store.put(bytes(3)));
    expect(statSync(join(store.directory, name)).mode & 0o777).toBe(0o600);
  });

  test("is asked for by name where no temporary one can be made either", async () => {
    const file = join(folder(), "file");
    writeFileSync(file, "");
    vi.stubEnv("TMPDIR", file);
    onTestFinished(() => void vi.unstubAllEnvs());
    const folders = `${file}/media (ENOTDIR) and ${file} (ENOTDIR) can't be written to`;
    await expect(openDirectory(undefined, silent, join(file, "media"))).rejects.toThrow(
      `media.directory: ${folders}; name a folder, or set media.delivery: data`,
    );
  });
});

test("images inside of the response are not kept", async () => {
  const store = inlineMedia();
  expect(await store.put(Buffer.from("abc"))).toBe("data:image/png;base64,YWJj");
});

test("a process that is killed while it writes leaves no broken image to be served", async () => {
  const directory = folder();
  const child = spawn(process.execPath, ["--import", "tsx", "test/media/writer.ts", directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
  const { store } = await storeOf({ directory, now: Date.now, maxBytes: 1e9 });
  const names = readdirSync(directory);
  const served = await Promise.all(names.map((name) => bytesOf(store, name)));
  const images = served.filter((image) => image !== undefined);
  expect(images.length).toBeGreaterThan(0);
  for (const image of images) expect(PNG.sync.read(image)).toMatchObject({ width: 256 });
  // What was under way has no name that is served.
  for (const [i, name] of names.entries())
    expect(served[i] === undefined).toBe(name.startsWith("."));
});
