/** Real models that share a budget of memory. */
import { describe, expect, it } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { createLlamaBackend } from "../../src/backends/llama/index.js";
import { llamaSchema } from "../../src/backends/llama/schema.js";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import type { Admit, ResidentBackend } from "../../src/backends/resident.js";
import { Residents } from "../../src/backends/residents.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { answer, chatRequest, start, tiny, trained } from "./llama-subject.js";
import { ParityModels } from "./onnx/parity.js";
import { requestOf } from "./onnx/support.js";
import { callOf } from "./subject.js";

const MB = 1e6;

describe("real models under a budget", () => {
  /** Two of the same file: about 0.6 MB each, and room for one. */
  function pair(budget: number, path = tiny) {
    const { admit } = new Residents(budget, silent);
    return ["a", "b"].map((name) =>
      createLlamaBackend(llamaSchema.parse({ type: "llama", name, id: name, path, load: "lazy" }), {
        log: silent,
        admit,
      }),
    );
  }
  /** The bytes of a picture. */
  async function draw(
    { handlers }: ResidentBackend,
    changes: Parameters<typeof requestOf>[0] = {},
  ): Promise<Buffer | undefined> {
    const call = callOf("streamTextToImage", requestOf(changes));
    for await (const batch of handlers.streamTextToImage?.(call) ?? []) {
      for (const { event } of batch) {
        if (event.case === "image") return Buffer.from(event.value.media?.data ?? []);
      }
    }
    return undefined;
  }
  const state = (backend: { models(): readonly { state: State }[] } | undefined) =>
    backend?.models()[0]?.state;

  it("take turns in memory, and each answers", async () => {
    // What one takes is reckoned by the engine: its budget is found out, not guessed.
    const seen: number[] = [];
    const probe = createLlamaBackend(
      llamaSchema.parse({ type: "llama", name: "probe", path: tiny }),
      {
        log: silent,
        admit: async ({ bytes }) => void seen.push(bytes),
      },
    );
    await answer(probe, chatRequest("hello"));
    await probe.close();
    const [a, b] = pair((seen[0] ?? 0) * 1.5);
    if (!a || !b) throw new Error("two are made");
    expect([state(a), state(b)]).toEqual([State.IDLE, State.IDLE]);
    const first = await answer(a, chatRequest("hello", { maxTokens: 20 }));
    expect([state(a), state(b)]).toEqual([State.READY, State.IDLE]);

    // A call that runs is not cut: b waits for its end.
    const running = start(a, chatRequest("hello", { maxTokens: 20 }));
    let text = (await running.next()).value?.[0]?.choices[0]?.delta?.content ?? "";
    const waiting = answer(b, chatRequest("hello", { maxTokens: 20 }));
    await expect.poll(() => state(b)).toBe(State.LOADING);
    for (let next = await running.next(); !next.done; next = await running.next()) {
      text += next.value[0]?.choices[0]?.delta?.content ?? "";
    }
    expect(text).toBe(first.text);
    expect((await waiting).text).toBe(first.text);
    expect([state(a), state(b)]).toEqual([State.IDLE, State.READY]);

    expect((await answer(a, chatRequest("hello", { maxTokens: 20 }))).text).toBe(first.text);
    expect([state(a), state(b)]).toEqual([State.READY, State.IDLE]);
    await Promise.all([a.close(), b.close()]);
  });

  it("one stays for a call that comes the moment before it is to leave, or is there again", async () => {
    const [a] = pair(10 * MB) as ResidentBackend[];
    const [resident] = a?.residents ?? [];
    if (!a || !resident) throw new Error("there is one");
    const request = chatRequest("hello", { maxTokens: 20, temperature: 0 });
    const { text } = await answer(a, request);
    for (let turns = 0; turns < 12; turns++) {
      const answered = answer(a, request);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const left = resident.unload();
      expect((await answered).text).toBe(text);
      await left;
      expect(state(a)).not.toBe(State.FAILED);
    }
    await a.close();
  });

  it("image models do, too, beside chat models", async () => {
    const models = await ParityModels.unpack("sd15");
    const seen: Record<string, number> = {};
    const log = silent;
    const parts = (admit: Admit) => {
      const image = (name: string) =>
        createOnnxBackend(
          { type: "onnx", name, id: name, path: models.folder("sd15"), threads: 1, load: "lazy" },
          { log, admit },
        );
      const config = { type: "llama", name: "chat", id: "chat", path: tiny, load: "lazy" };
      const chat = createLlamaBackend(llamaSchema.parse(config), { log, admit });
      return { a: image("a"), b: image("b"), c: image("c"), chat };
    };
    const probe = parts(async ({ id, bytes }) => {
      seen[id] = bytes;
    });
    const wanted = await draw(probe.a);
    await answer(probe.chat, chatRequest("hello"));
    await Promise.all(Object.values(probe).map((one) => one.close()));

    const { a: each = 0, chat: whole = 0 } = seen;

    /** Models are called one after the other; who is in memory then. */
    const play = async (
      budget: number,
      steps: readonly (readonly [keyof typeof probe, string])[],
    ) => {
      const all = parts(new Residents(budget, silent).admit);
      for (const [id, stay] of steps) {
        if (id === "chat") await answer(all.chat, chatRequest("hello"));
        else expect(await draw(all[id])).toEqual(wanted);
        const ready = Object.entries(all).filter(([, one]) => state(one) === State.READY);
        expect(ready.map(([name]) => name).join(" ")).toBe(stay);
      }
      await Promise.all(Object.values(all).map((one) => one.close()));
    };
    await play(2.2 * each, [
      ["a", "a"],
      ["b", "a b"],
      ["a", "a b"],
      ["c", "a c"],
      ["b", "b c"],
    ]);
    await play(whole + 0.5 * each, [
      ["a", "a"],
      ["chat", "chat"],
      ["a", "a"],
    ]);
    await models.remove();
  });

  it("an image model asks for its LoRAs, and does without where they don't fit", async () => {
    const models = await ParityModels.unpack("sd15");
    const path = models.folder("sd15");
    const under = (admit: Admit, id = "a") => {
      const config = { type: "onnx", name: id, id, path, threads: 1, load: "lazy" } as const;
      return createOnnxBackend(config, { log: silent, admit });
    };
    const request = { numInferenceSteps: 1, loras: '{"plain": 1}' };
    const asked: number[] = [];
    const probe = under(async ({ bytes }) => void asked.push(bytes));
    const fused = await draw(probe, request);
    await probe.close();
    const [alone = 0, both = 0] = asked;
    expect(both).toBeGreaterThan(1.1 * alone);

    const { admit } = new Residents(both + 0.9 * alone, silent);
    const [a, b] = [under(admit), under(admit, "b")];
    const [resident] = a.residents;
    await Promise.all([resident?.load(), b.residents[0]?.load()]);
    expect([resident?.bytes, state(b)]).toEqual([alone, State.READY]);
    expect(await draw(a, request)).toEqual(fused);
    expect([resident?.bytes, state(b)]).toEqual([both, State.IDLE]);
    await resident?.unload();
    expect(resident?.bytes).toBe(alone);
    await Promise.all([a.close(), b.close()]);

    const narrow = under(new Residents((alone + both) / 2, silent).admit);
    await expect(draw(narrow, request)).rejects.toMatchObject({
      code: "invalid_value",
      param: "loras",
      message: expect.stringMatching(/^loras: with them fused: a: the model needs about .* budget/),
    });
    expect(narrow.residents[0]).toMatchObject({ bytes: alone, state: "ready" });
    expect(await draw(narrow, { numInferenceSteps: 1 })).toBeDefined();
    await narrow.close();
    await models.remove();
  });

  it("make room for others once their backend is closed", async () => {
    const models = await ParityModels.unpack("sd15");
    const path = models.folder("sd15");
    const chats = (admit: Admit) => (id: string) =>
      createLlamaBackend(
        llamaSchema.parse({ type: "llama", name: id, id, path: tiny, load: "lazy" }),
        {
          log: silent,
          admit,
        },
      );
    const images = (admit: Admit) => (id: string) =>
      createOnnxBackend(
        { type: "onnx", name: id, id, path, threads: 1, load: "lazy" },
        { log: silent, admit },
      );
    for (const kind of [chats, images]) {
      let bytes = 0;
      const probe = kind(async (resident) => {
        bytes = resident.bytes;
      })("probe");
      await probe.ready?.("probe", never);
      await probe.close();
      expect(state(probe)).toBe(State.IDLE);

      const make = kind(new Residents(2.5 * bytes, silent).admit);
      const [stays, closed, next] = [make("stays"), make("closed"), make("next")];
      await stays.ready?.("stays", never);
      await closed.ready?.("closed", never);
      await closed.close();
      await next.ready?.("next", never);
      expect([state(stays), state(next)]).toEqual([State.READY, State.READY]);
      await Promise.all([stays.close(), next.close()]);
    }
    await models.remove();
  });

  it("one that is larger than the budget says so", async () => {
    const [a, b] = pair(2 * MB, trained);
    await expect(answer(a as never, chatRequest("hello"))).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringMatching(/^a: the model needs about \d+ MB .* budget of 2 MB$/),
    });
    expect(state(a)).toBe(State.FAILED);
    await Promise.all([a?.close(), b?.close()]);
  });
});
