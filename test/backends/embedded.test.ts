/** The supervisor with real child processes: the built command line's `node`. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { State, Task } from "../../gen/lintel/v1/models_pb.js";
import { EmbeddedBackend, type EmbeddedOptions } from "../../src/backends/embedded/index.js";
import { embeddedSchema } from "../../src/backends/embedded/schema.js";
import { Supervisor, timeDefaults } from "../../src/backends/embedded/supervisor.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { adapter } from "./llama-lora.js";
import { answer, chatRequest, file, start, tiny } from "./llama-subject.js";

const entry = file("dist/src/main.js");

let folder: string;
let backend: EmbeddedBackend | undefined;
const temporary = process.env.TMPDIR;

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [file("scripts/build.js"), "--if-stale"]);
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
  // Where the sockets go.
  process.env.TMPDIR = folder;
});

afterEach(async () => {
  await backend?.close();
  backend = undefined;
  if (temporary === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = temporary;
  await rm(folder, { recursive: true });
});

function embed(models: string[], options: EmbeddedOptions = {}, more = {}): EmbeddedBackend {
  backend = new EmbeddedBackend(
    embeddedSchema.parse({ type: "embedded", name: "embedded", models, ...more }),
    { log: silent },
    { entry, ...options },
  );
  backend.start();
  return backend;
}

/** The tiny model with room for an answer that takes a while. */
const wideModel = () => changedModel("wide", "llama.context_length", 4096);

/** The tiny model with another value. */
async function changedModel(name: string, key: string, value: number): Promise<string> {
  const bytes = await readFile(tiny);
  // After the key stand its type and its value, four bytes each.
  bytes.writeUInt32LE(value, bytes.indexOf(key) + key.length + 4);
  const path = join(folder, `${name}.gguf`);
  await writeFile(path, bytes);
  return path;
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const isGone = (pid: number) => vi.waitFor(() => expect(isAlive(pid)).toBe(false));

/** A running child's process id. */
async function running(embedded: EmbeddedBackend): Promise<number> {
  await embedded.ready("", never);
  const { pid } = embedded;
  if (pid === undefined) throw new Error("no child");
  return pid;
}

describe("embedded models", () => {
  it("are listed as loading, answer, and leave no process and no socket behind", async () => {
    const embedded = embed([tiny]);
    expect(embedded.models()).toMatchObject([
      { id: "tiny", task: Task.CHAT, state: State.LOADING },
    ]);
    expect(embedded.models()[0]?.supports).toContain("temperature");
    const { completion, finishReason } = await answer(embedded, chatRequest("hello"));
    expect({ completion, finishReason }).toEqual({ completion: 8, finishReason: "length" });
    await vi.waitFor(() => expect(embedded.models()[0]?.state).toBe(State.READY));
    await embedded.health(never);

    const pid = await running(embedded);
    expect(await readdir(folder)).toHaveLength(1);
    await embedded.close();
    expect(isAlive(pid)).toBe(false);
    expect(embedded.exits()).toEqual({ hung: 0, ended: 0 });
    expect(await readdir(folder)).toEqual([]);
    await expect(answer(embedded, chatRequest("hello"))).rejects.toMatchObject({
      code: "shutting_down",
    });
  });

  it("answer where the folder of temporary files has a blank in its path", async () => {
    process.env.TMPDIR = join(folder, "x y");
    await mkdir(process.env.TMPDIR);
    const request = chatRequest("hello", { maxTokens: 3 });
    expect((await answer(embed([tiny]), request)).completion).toBe(3);
  });

  it("answer where the path of that folder is too long for a socket's", async () => {
    process.env.TMPDIR = join(folder, "x".repeat(100));
    await mkdir(process.env.TMPDIR);
    const request = chatRequest("hello", { maxTokens: 3 });
    expect((await answer(embed([tiny]), request)).completion).toBe(3);
  });

  it("get requests of any size that the gateway takes", async () => {
    const request = chatRequest("a".repeat(3 * 1024 * 1024));
    await expect(answer(embed([tiny]), request)).rejects.toMatchObject({
      code: "invalid_value",
      message: expect.stringContaining("context_length_exceeded"),
    });
  });

  it("are listed in their order, whose first is the default, also once their process tells of them", async () => {
    const paths = ["b", "a"].map((name) => join(folder, `${name}.gguf`));
    for (const path of paths) await copyFile(tiny, path);
    const embedded = embed(paths);
    const ids = () => embedded.models().map(({ id }) => id);
    expect(ids()).toEqual(["b", "a"]);
    await answer(embedded, chatRequest("hello", { model: "a" }));
    await vi.waitFor(() => expect(embedded.models()[1]?.state).toBe(State.READY));
    expect(ids()).toEqual(["b", "a"]);
    expect(embedded.models()).toBe(embedded.models());
  });

  it("stand behind the others where they came into a folder after the start", async () => {
    await copyFile(tiny, join(folder, "b.gguf"));
    const embedded = embed([folder]);
    await copyFile(tiny, join(folder, "a.gguf"));
    await answer(embedded, chatRequest("hello", { model: "b" }));
    expect(embedded.models().map(({ id }) => id)).toEqual(["b", "a"]);
  });

  it("are spoken to by the chat templates that the configuration has for them", async () => {
    const template = "{% for m in messages %}{{ m.content }}{% endfor %}";
    const prompts: number[] = [];
    for (const chat_templates of [{ tiny: template }, { "t=b": template, other: template }]) {
      const embedded = embed([tiny], {}, { chat_templates });
      prompts.push((await answer(embedded, chatRequest("hello"))).prompt);
      await embedded.close();
    }
    // Its own has marks besides.
    expect(prompts).toEqual([5, 9]);
    expect(await readdir(folder)).toEqual([]);
  });

  it("are changed by the LoRAs that the configuration has for them", async () => {
    const path = join(folder, "a=b: c.gguf");
    await writeFile(path, adapter({ weights: { "blk.1.ffn_down.weight": [64, 32] } }));
    const texts: string[] = [];
    for (const scale of [0, 1, -2.5]) {
      const embedded = embed([tiny], {}, { loras: { tiny: [{ path, scale }] } });
      texts.push((await answer(embedded, chatRequest("hello", { maxTokens: 24 }))).text);
      await embedded.close();
    }
    expect(new Set(texts).size).toBe(texts.length);
  });

  it.each([
    { context_size: 16, sequences: 1, threads: 1, gpu_layers: 0, memory_budget: 0 },
    { context_size: 10 ** 9, sequences: 256, threads: 256, gpu_layers: 99_999 },
    { gpu: "auto", gpu_layers: "max", memory_budget: "1.5GiB" },
    { kv_cache_type: "iq4_nl", flash_attention: false, keep_alive: "24d", min_p: 1 },
    { flash_attention: "auto", repeat_penalty: 0.1, presence_penalty: -2, frequency_penalty: 1e-7 },
  ])("have a process that takes whatever the configuration may say: %o", async (more) => {
    const embedded = embed([tiny], {}, { load: "lazy", ...more });
    await embedded.health(never);
    expect(embedded.models()).toMatchObject([{ id: "tiny", state: State.IDLE }]);
  });

  it("are those that Lintel brings, if none are named", async () => {
    const embedded = new EmbeddedBackend(
      { type: "embedded", name: "embedded" },
      { log: silent },
      { entry },
    );
    expect(embedded.models().map(({ id }) => id)).toEqual(["lintel-chat", "lintel-image"]);
    await embedded.close();
  });

  it("answer again after their process was killed; calls that ran are told", async () => {
    const embedded = embed([await wideModel()]);
    const pid = await running(embedded);
    const request = chatRequest("hello", { model: "wide", maxTokens: 4000 });
    const stream = start(embedded, request);
    await stream.next();
    process.kill(pid, "SIGKILL");
    const rest = async () => {
      while (!(await stream.next()).done);
    };
    const error = await rest().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(LintelError);
    expect(error).toMatchObject({ code: "unavailable" });
    expect(error.retryAfter).toBeGreaterThan(0);
    expect((await answer(embedded, { ...request, maxTokens: 3 })).completion).toBe(3);
    expect(embedded.pid).not.toBe(pid);
    expect(embedded.exits()).toEqual({ hung: 0, ended: 1 });
  });

  it("can be closed while their process is being started", async () => {
    const embedded = embed([tiny]);
    const waiting = answer(embedded, chatRequest("hello")).catch((error) => error);
    await embedded.close();
    expect(await waiting).toMatchObject({ code: "shutting_down" });
    expect(await readdir(folder)).toEqual([]);
  });

  it("have a process that leaves when ours is killed", async () => {
    const script = `
      const { EmbeddedBackend } = await import(${JSON.stringify(file("dist/src/backends/embedded/index.js"))});
      const nothing = () => {};
      const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
      const config = { type: "embedded", name: "embedded", models: [${JSON.stringify(tiny)}] };
      const backend = new EmbeddedBackend(config, { log });
      await backend.ready("", new AbortController().signal);
      process.stdout.write(String(backend.pid));
    `;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = await once(parent.stdout, "data");
    const pid = Number(text);
    expect(isAlive(pid)).toBe(true);
    parent.kill("SIGKILL");
    await isGone(pid);
  });

  it("have a process that heeds no signal of its group, and leaves with ours", async () => {
    const errors: object[] = [];
    const log = { ...silent, error: (fields: object) => void errors.push(fields) };
    backend = new EmbeddedBackend(
      { type: "embedded", name: "embedded", models: [await wideModel()] },
      { log },
      { entry },
    );
    const request = chatRequest("hello", { model: "wide", maxTokens: 4000 });
    const stream = start(backend, request);
    await stream.next();
    const pid = await running(backend);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid, signal);
    // What was admitted and is sent only now is taken too.
    for (const maxTokens of [1, 2, 3]) {
      expect((await answer(backend, { ...request, maxTokens })).completion).toBe(maxTokens);
    }
    expect((await stream.next()).done).toBe(false);
    await stream.return?.(undefined);
    expect(backend.pid).toBe(pid);
    await backend.close();
    expect(isAlive(pid)).toBe(false);
    expect(errors).toEqual([]);
  });

  it("fail with a reason when their process ends again and again", async () => {
    const crashing = join(folder, "crash.mjs");
    await writeFile(crashing, "process.exit(3)");
    const times = { firstPause: 1, longestPause: 60_000, patience: 0 };
    const embedded = embed([tiny], { entry: crashing, times: { ...times, longestPause: 2 } });
    await vi.waitFor(() => {
      expect(embedded.models()[0]).toMatchObject({ state: State.FAILED });
      expect(embedded.models()[0]?.stateDetail).toContain("exited with 3");
    });
    await expect(answer(embedded, chatRequest("hello"))).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  it("serve beside one whose file ends the process, until that one is replaced", async () => {
    // llama.cpp asserts that a model has layers.
    const damaged = await changedModel("damaged", "llama.block_count", 0);
    const errors: object[] = [];
    const log = { ...silent, error: (fields: object) => void errors.push(fields) };
    backend = new EmbeddedBackend(
      { type: "embedded", name: "embedded", models: [damaged, tiny] },
      { log },
      { entry, times: { firstPause: 1, longestPause: 2 } },
    );
    const embedded = backend;
    embedded.start();
    const states = () => Object.fromEntries(embedded.models().map((m) => [m.id, m]));
    await vi.waitFor(() => {
      expect(states().tiny?.state).toBe(State.READY);
      expect(states().damaged?.state).toBe(State.FAILED);
    });
    expect((await answer(embedded, chatRequest("hello"))).completion).toBe(8);
    expect(states().damaged?.stateDetail).toMatch(
      /^damaged: loading it ended the process of the models, which ended by SIG\w+; it is tried again once its files change, or in \d+ minutes$/,
    );
    await expect(
      answer(embedded, chatRequest("hello", { model: "damaged" })),
    ).rejects.toMatchObject({ code: "model_not_loaded", message: states().damaged?.stateDetail });
    const crashes = () => errors.filter((fields) => "crashes" in fields).length;
    expect(crashes()).toBe(2);
    expect(errors).toContainEqual(
      expect.objectContaining({ model: "damaged", ending: expect.any(String) }),
    );

    await copyFile(tiny, damaged);
    process.kill(await running(embedded), "SIGKILL");
    await vi.waitFor(() => {
      expect(crashes()).toBe(3);
      expect(states().damaged?.state).toBe(State.READY);
    });
    const request = chatRequest("hello", { model: "damaged" });
    expect((await answer(embedded, request)).completion).toBe(8);
  });

  it("have a process that is ended, with a word in the log, if it can't be called", async () => {
    const listening = join(folder, "listening.mjs");
    await writeFile(
      listening,
      `process.on("disconnect", () => {}); process.send({ lintel: "listening" });`,
    );
    const logged: object[] = [];
    const pids: (number | undefined)[] = [];
    const supervisor: Supervisor<never> = new Supervisor<never>(
      { entry: listening, execArgv: [], models: [], options: [], watchdog: 0 },
      {
        started: async () => {
          pids.push(supervisor.pid);
          throw new Error("no such address");
        },
        ended: async () => {},
        failed: () => {},
      },
      { ...silent, error: (fields) => void logged.push(fields) },
      { ...timeDefaults, firstPause: 60_000 },
    );
    await expect(supervisor.up()).rejects.toMatchObject({ code: "unavailable" });
    await vi.waitFor(() => expect(logged).toHaveLength(1), 20_000);
    expect(logged).toMatchObject([{ ending: "can't be called: no such address" }]);
    expect(pids.map((pid) => isAlive(pid ?? 0))).toEqual([false]);
    await supervisor.close();
  });

  it("have a process that is killed if it does not leave", async () => {
    const stubborn = join(folder, "stubborn.mjs");
    await writeFile(
      stubborn,
      `process.on("disconnect", () => {}); setInterval(() => {}, 1000);
       process.send({ lintel: "listening" });`,
    );
    const supervisor: Supervisor<number> = new Supervisor<number>(
      { entry: stubborn, execArgv: [], models: [], options: [], watchdog: 0 },
      { started: async () => supervisor.pid ?? 0, ended: async () => {}, failed: () => {} },
      silent,
      { ...timeDefaults, grace: 20 },
    );
    const pid = await supervisor.up();
    await supervisor.close();
    expect(isAlive(pid)).toBe(false);
  });

  it("do not wait for a process that only starts", async () => {
    const slow = join(folder, "slow.mjs");
    await writeFile(
      slow,
      `process.on("disconnect", () => {}); setInterval(() => {}, 1000);
       process.stderr.write("ready\\n");`,
    );
    let heard = () => {};
    const said = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const embedded = new EmbeddedBackend(
      { type: "embedded", name: "embedded", models: [tiny] },
      { log: { ...silent, warn: heard } },
      { entry: slow, times: { grace: 600_000 } },
    );
    embedded.start();
    await said;
    const { pid } = embedded;
    await embedded.close();
    expect(isAlive(pid ?? 0)).toBe(false);
  });

  it("end without a complaint before their process has said which there are", async () => {
    const silentNode = join(folder, "silent.mjs");
    await writeFile(
      silentNode,
      `import { createServer } from "node:net";
       const path = process.argv[process.argv.indexOf("--listen") + 1].replace("unix:", "");
       process.on("disconnect", () => process.exit());
       const server = createServer(() => process.stderr.write("asked\\n"));
       server.listen(path, () => process.send({ lintel: "listening" }));`,
    );
    const logged: object[] = [];
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const warn = (fields: { said?: string }, text: string) => {
      if (fields.said === "asked") asked();
      else logged.push({ ...fields, text });
    };
    const embedded = new EmbeddedBackend(
      { type: "embedded", name: "embedded", models: [tiny] },
      { log: { ...silent, warn } },
      { entry: silentNode },
    );
    embedded.start();
    await isAsked;
    await embedded.close();
    expect(logged).toEqual([]);
  });

  it("say what to install where the engine is missing", async () => {
    const hooks = `export async function resolve(name, context, next) {
      if (name === "node-llama-cpp") {
        throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
      }
      return next(name, context);
    }`;
    const url = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
    const register = `import { register } from "node:module"; register(${JSON.stringify(url(hooks))});`;
    const embedded = embed([tiny], { execArgv: ["--import", url(register)] });
    const error = await answer(embedded, chatRequest("hello")).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "model_not_loaded" });
    expect(error.message).toContain("npm install node-llama-cpp@3.21.1");
    await vi.waitFor(() => expect(embedded.models()[0]?.state).toBe(State.FAILED));
  });
});

afterAll(() => {
  expect(backend).toBeUndefined();
});
