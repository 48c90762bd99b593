/** The image engine as a backend, with its thread. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { StreamTextToImageResponse } from "../../gen/lintel/v1/image_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import { enginePackages } from "../../src/backends/onnx/protocol.js";
import { installHint } from "../../src/backends/onnx/runtime.js";
import { onnxSchema } from "../../src/backends/onnx/schema.js";
import { PipelineThread } from "../../src/backends/onnx/thread.js";
import type { Backend } from "../../src/core/backend.js";
import type { Call, Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { reasonOf, silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { backendContract } from "./contract.js";
import {
  backendOf,
  die,
  endless,
  fail,
  failOnCuda,
  failOnGpu,
  faulty,
  folderOf,
  jobOf,
  requestOf,
} from "./onnx/support.js";
import { callOf, type Subject } from "./subject.js";

type Stream = Handle<"streamTextToImage">;
type Request = Parameters<typeof requestOf>[0];

function streamOf(backend: Backend): Stream {
  const { streamTextToImage } = backend.handlers;
  if (!streamTextToImage) throw new Error("no handler");
  return streamTextToImage;
}

async function generate(backend: Backend, request?: Request, by: AbortSignal = never) {
  const events: StreamTextToImageResponse["event"][] = [];
  for await (const step of streamOf(backend)(callOf("streamTextToImage", requestOf(request), by))) {
    events.push(...step.map((message) => message.event));
  }
  return events;
}

/** What something threw. */
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "it succeeded",
    (error: unknown) => error,
  );

/** Starting a thread takes a while: checks that leave the backend as it was share one. */
let shared: Backend | undefined;
afterAll(() => shared?.close());

/**
 * A backend whose next call can be held up: it runs many seconds, and a hold
 * before its first message has such a call stand in front of it.
 */
async function subject(): Promise<Subject> {
  const backend = shared ?? backendOf(folderOf("tiny"), faulty);
  shared = backend;
  await backend.ready?.("tiny", never);
  const front = new AbortController();
  let begun: (() => void) | undefined;
  let ended = () => {};
  let changes: Request = {};

  const held: Stream = async function* (call: Call<"streamTextToImage">) {
    const [note, over, more] = [begun, ended, changes];
    begun = undefined;
    changes = {};
    const request = { ...call.request, ...more };
    try {
      for await (const step of streamOf(backend)({ ...call, request })) {
        yield step;
        note?.();
      }
    } finally {
      over();
    }
  };
  return {
    backend: {
      name: backend.name,
      models: () => backend.models(),
      ready: backend.ready?.bind(backend),
      health: (signal) => backend.health(signal),
      handlers: { streamTextToImage: held },
      close: () => (shared === backend ? Promise.resolve() : backend.close()),
    },
    request: ((_: string, prompt?: string) =>
      requestOf(prompt === undefined ? {} : { prompt })) as Subject["request"],
    async hold(_method, at) {
      shared = undefined;
      const over = new Promise<void>((resolve) => {
        ended = resolve;
      });
      // The engine has stopped when it takes other work, or is gone.
      const stopped = over.then(async () => {
        front.abort(new LintelError("cancelled", "the test is done with it"));
        await errorOf(generate(backend, { numInferenceSteps: 1 }));
      });
      if (at === "middle") {
        changes = endless;
        const reached = new Promise<void>((resolve) => {
          begun = resolve;
        });
        return { reached, stopped };
      }
      const reached = new Promise<void>((resolve) => {
        const inFront = streamOf(backend)(
          callOf("streamTextToImage", requestOf(endless), front.signal),
        );
        const follow = async () => {
          for await (const _ of inFront) resolve();
        };
        follow().catch(() => {});
      });
      await reached;
      return { reached, stopped };
    },
    provoke(failure) {
      changes = failure === "a step that fails" ? fail : die;
    },
    close: () => front.abort(),
  };
}

backendContract("onnx", {
  methods: ["streamTextToImage"],
  setup: subject,
  failures: {
    "a step that fails": { method: "streamTextToImage", code: "upstream_failed" },
    "a thread that ends": { method: "streamTextToImage", code: "upstream_failed" },
  },
});

describe("the onnx backend", () => {
  let backend: Backend | undefined;
  afterEach(() => backend?.close());

  it("is loading, then ready, and says what it supports", async () => {
    backend = backendOf(folderOf("tiny"));
    expect(backend.models()).toMatchObject([{ id: "tiny", state: State.LOADING }]);
    await backend.ready?.("tiny", never);
    expect(backend.models()).toMatchObject([{ id: "tiny", state: State.READY, stateDetail: "" }]);
    expect(backend.models()[0]?.supports).toEqual(
      expect.arrayContaining(["height", "width", "guidance_scale", "negative_prompt", "seed"]),
    );
    expect(backend.models()[0]).toMatchObject({ loras: [] });
  });

  it("loads with the first call where it is lazy", async () => {
    const config = onnxSchema.parse({
      type: "onnx",
      name: "images",
      path: folderOf("tiny"),
      id: "mine",
      load: "lazy",
    });
    backend = createOnnxBackend(config, { log: silent });
    backend.start?.();
    expect(backend.models()).toMatchObject([{ id: "mine", state: State.IDLE }]);
    expect((await generate(backend)).at(-1)?.case).toBe("done");
    expect(backend.models()).toMatchObject([{ id: "mine", state: State.READY }]);
  });

  it("takes calls while it loads, and answers them in turn", async () => {
    const loading = backendOf(folderOf("tiny"));
    backend = loading;
    const order: number[] = [];
    const calls = [0, 1, 2].map(async (i) => {
      const events = await generate(loading, { seed: BigInt(i) });
      order.push(i);
      return events.find((event) => event.case === "image")?.value?.media?.seed;
    });
    expect(await Promise.all(calls)).toEqual([0, 1, 2]);
    expect(order).toEqual([0, 1, 2]);
  });

  it("says in the last message that a prompt was cut", async () => {
    backend = backendOf(folderOf("tiny"));
    const events = await generate(backend, { prompt: "red ".repeat(20) });
    expect(events.at(-1)).toMatchObject({
      case: "done",
      value: { warnings: ["prompt: cut to the model's 8 tokens"] },
    });
  });

  it("lets a waiting call go at once, and still serves those behind it", async () => {
    const busy = backendOf(folderOf("tiny"));
    backend = busy;
    await busy.ready?.("tiny", never);
    const first = new AbortController();
    const second = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const long = errorOf(
      (async () => {
        const call = callOf("streamTextToImage", requestOf(endless), first.signal);
        for await (const _ of streamOf(busy)(call)) started();
      })(),
    );
    await running;
    const waiting = errorOf(generate(busy, {}, second.signal));
    const behind = generate(busy);
    second.abort(reason);
    expect(await waiting).toBe(reason);
    first.abort(reason);
    expect(await long).toBe(reason);
    expect((await behind).at(-1)?.case).toBe("done");
  });

  it("frees the thread even if nobody reads on after the abort", async () => {
    backend = backendOf(folderOf("tiny"));
    const controller = new AbortController();
    const call = callOf("streamTextToImage", requestOf(endless), controller.signal);
    const reader = streamOf(backend)(call)[Symbol.asyncIterator]();
    await reader.next();
    controller.abort(new LintelError("cancelled", "the caller left"));
    expect((await generate(backend)).at(-1)?.case).toBe("done");
  });

  it("says what failed, and keeps the rest for the log", async () => {
    backend = backendOf(folderOf("tiny"), faulty);
    const error = (await errorOf(generate(backend, fail))) as LintelError;
    expect(error).toMatchObject({ code: "upstream_failed" });
    expect(error.message).toBe(
      "unet/model.onnx: ran out of memory: Non-zero status code returned while running Conv node. " +
        "Name:'' Status Message: Failed to allocate memory for requested buffer of size 150994944",
    );
    expect(String((error.cause as Error).cause)).toMatch(/bfc_arena.cc/);
  });

  it("says that a GPU's memory is full where WebGPU speaks of a buffer that is not valid", async () => {
    backend = backendOf(folderOf("tiny"), faulty);
    await expect(generate(backend, failOnGpu)).rejects.toThrow(/: ran out of memory: WebGPU/);
    expect((await generate(backend)).at(-1)?.case).toBe("done");
  });

  it("says what CUDA says, and not which machine it is on", async () => {
    backend = backendOf(folderOf("tiny"), faulty);
    const error = (await errorOf(generate(backend, failOnCuda))) as LintelError;
    expect(error.message).toBe("unet/model.onnx: ran out of memory: CUDA failure 2: out of memory");
  });

  it("loads again after its thread ended, for those who wait too", async () => {
    const frail = backendOf(folderOf("tiny"), faulty);
    backend = frail;
    const [failed, behind] = [errorOf(generate(frail, die)), generate(frail)];
    expect(await failed).toMatchObject({ code: "upstream_failed" });
    expect((await behind).at(-1)?.case).toBe("done");
    expect(frail.models()).toMatchObject([{ state: State.READY }]);
  });

  it("refuses calls once it is closed", async () => {
    backend = backendOf(folderOf("tiny"));
    await backend.close();
    expect(await errorOf(generate(backend))).toMatchObject({ code: "shutting_down" });
    expect(await errorOf(backend.health(never))).toMatchObject({ code: "shutting_down" });
  });
});

describe("an abort", () => {
  it("stops the work between steps", async () => {
    const folder = folderOf("tiny");
    const thread = new PipelineThread({ folder, threads: 1, packages: enginePackages });
    await thread.loaded;
    const asked = 1000;
    let steps = 0;
    await thread.run(jobOf({ width: 2048, height: 2048, steps: asked }), () => {
      if (++steps === 3) thread.abort();
    });
    // One picture, of as many steps as there can be: all of them take many seconds.
    expect(steps).toBeLessThan(asked);
    await thread.close();
  });
});

it("a thread that is gone fails a job at once", async () => {
  const folder = folderOf("tiny");
  const thread = new PipelineThread({ folder, threads: 1, packages: enginePackages });
  await thread.close();
  await expect(thread.run(jobOf(), () => {})).rejects.toThrow("the image engine's thread ended");
});

describe("leaving", () => {
  const child = fileURLToPath(new URL("onnx/leave.ts", import.meta.url));
  const loader = new URL("../../scripts/typescript-loader.js", import.meta.url).href;

  it.each([
    ["running", "running\nshutting_down\nclosed\n"],
    ["loading", "closed\n"],
  ])("in the middle of %s does not crash the process", async (what, said) => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--import",
      loader,
      child,
      what,
    ]);
    expect(stdout).toBe(said);
  });
});

describe("a model that can't be loaded", () => {
  const opened: Backend[] = [];
  const open = (...from: Parameters<typeof backendOf>): Backend => {
    const backend = backendOf(...from);
    opened.push(backend);
    return backend;
  };
  afterEach(async () => {
    for (const backend of opened.splice(0)) await backend.close();
  });

  it("fails with the reason, at every place, and leaves the others alone", async () => {
    const bad = open(join(folderOf("tiny"), "unet"));
    const sound = open(folderOf("tiny"));
    const error = await errorOf(bad.ready?.("unet", never) ?? Promise.resolve());
    expect(error).toBeInstanceOf(LintelError);
    const wanted = { code: "model_not_loaded", message: "model_index.json: is missing" };
    expect(error).toMatchObject(wanted);
    expect(bad.models()).toMatchObject([{ state: State.FAILED, stateDetail: wanted.message }]);
    expect(await errorOf(generate(bad))).toMatchObject(wanted);
    expect(await errorOf(bad.health(never))).toMatchObject(wanted);
    // The words say it all: no stack of ours, which the log would have.
    expect(reasonOf(error)).toMatch(/^model_index\.json: is missing: ENOENT: .*json'$/);
    expect((await generate(sound)).at(-1)?.case).toBe("done");
    expect(bad.models()[0]?.state).toBe(State.FAILED);
  });

  it.each([
    ["onnxruntime-node", { ...enginePackages, runtime: "not-installed-runtime" }],
    ["@huggingface/tokenizers", { ...enginePackages, tokenizers: "@not-installed/tokenizers" }],
  ])("says what to install without %s", async (_, packages) => {
    const backend = open(folderOf("tiny"), packages);
    expect(await errorOf(generate(backend))).toMatchObject({
      code: "model_not_loaded",
      message: installHint,
    });
    expect(backend.models()).toMatchObject([{ state: State.FAILED, stateDetail: installHint }]);
  });
});
