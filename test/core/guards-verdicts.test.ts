/** What guards make of prompts, around the real core. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import type { DocumentReader } from "../../src/core/documents.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { says } from "../support/scripted.js";
import {
  everywhere,
  file,
  guarded,
  guardOf,
  mail,
  pass,
  saying,
  secret,
  user,
} from "./guarding.js";

describe("a guard", () => {
  test.each(["complete", "chat"] as const)(
    "that blocks refuses %s, asks nobody, and names the field",
    async (method) => {
      const { ask, backend } = guarded([mail("block")]);
      const { code, error, warnings } = await ask(
        { messages: [{ role: "system", content: "Be kind." }, ...user(`I am ${secret}`).messages] },
        method,
      );
      expect([code, error?.http, error?.param, error?.retry]).toEqual([
        "content_blocked",
        400,
        "messages[1].content",
        "never",
      ]);
      expect(error?.message).toBe('messages[1].content: was blocked by the guard "mail"');
      expect(backend.asked).toEqual([]);
      expect(warnings).toEqual([]);
    },
  );

  test("that blocks images names the prompt at fault", async () => {
    const { ask } = guarded([mail("block")]);
    const prompts = [{ prompt: secret }, { prompt: "a", negativePrompt: secret }];
    const params = [];
    for (const request of prompts) params.push((await ask(request, "textToImage")).error?.param);
    expect(params).toEqual(["prompt", "negative_prompt"]);
  });

  test("that flags passes, and the log line tells", async () => {
    const lines: object[] = [];
    const log = { ...silent, info: (fields: object) => void lines.push(fields) };
    const { ask, backend } = guarded([mail("flag")], says("Hi"), {}, { log });
    const { code, warnings } = await ask(user(secret));
    expect([code, warnings]).toEqual(["ok", []]);
    expect(backend.asked[0]).toMatchObject(user(secret));
    await ask(user("Hello"));
    const flagged = { guard: "mail", side: "prompt", result: "flagged", found: ["email"] };
    expect(lines).toMatchObject([{ guards: [flagged] }, { guards: undefined }]);
    expect(JSON.stringify(lines)).not.toContain(secret);
  });

  test("sees what those before it left", async () => {
    const first = saying((texts) => ({
      action: "replace",
      found: [],
      texts: texts.map(({ text }) => `${text}!`),
    }));
    const second = pass();
    const { ask, backend } = guarded([
      guardOf("a", first.checker),
      mail(),
      guardOf("b", second.checker),
    ]);
    await ask(user(secret));
    expect(second.seen[0]?.map(({ text }) => text)).toEqual(["[email]!"]);
    expect(backend.asked[0]).toMatchObject(user("[email]!"));
  });

  test("is told no text of which those before it left nothing, and is not asked where there is none", async () => {
    const replacing = (by: (text: string) => string) =>
      saying((texts) => ({
        action: "replace",
        found: [],
        texts: texts.map(({ text }) => by(text)),
      }));
    const first = replacing((text) => (text === secret ? "" : text));
    const second = replacing((text) => `${text}!`);
    const { ask, backend } = guarded([guardOf("a", first.checker), guardOf("b", second.checker)]);
    const system = { role: "system", content: secret };
    await ask({ messages: [system, { role: "user", content: "Hello" }] });
    await ask(user(secret));
    expect(second.seen.map((texts) => texts.map(({ text }) => text))).toEqual([["Hello"]]);
    expect(backend.asked).toMatchObject([
      { messages: [{ content: "" }, { content: "Hello!" }] },
      user(""),
    ]);
  });

  test.each([
    ["choice", ["no", secret], "response_format.choice[1]"],
    ["regex", secret, "response_format.regex"],
    ["grammar", secret, "response_format.grammar"],
  ])("that would replace what holds an answer to a text blocks the call: %s", async (...row) => {
    const [type, value, field] = row;
    const { ask, backend } = guarded([mail()]);
    const { code, error } = await ask({ ...user("a"), responseFormat: { type, [type]: value } });
    expect([code, error?.param]).toEqual(["content_blocked", field]);
    expect(backend.asked).toEqual([]);
  });

  test("that would replace the name of a function blocks the call", async () => {
    const { checker } = saying((texts) => ({
      action: "replace",
      found: ["x"],
      texts: texts.map(({ text }) => text.replace("look", "[x]")),
    }));
    const { ask, backend } = guarded([guardOf("a", checker)]);
    const { code, error } = await ask(everywhere("b"));
    expect([code, error?.param]).toEqual([
      "content_blocked",
      "messages[2].tool_calls[0].function.name",
    ]);
    expect(backend.asked).toEqual([]);
  });

  test("looks at calls of its models alone, by the name under which they count", async () => {
    const settings = { models: [{ name: "chat-1", aliases: ["gpt"] }] };
    const of = (models: string[]) => guarded([mail("block", { models })], says("Hi"), settings);
    const codes = async (models: string[]) => {
      const { ask } = of(models);
      const by = async (model: string) => (await ask({ ...user(secret), model })).code;
      return [await by("chat-1"), await by("gpt"), await by("")];
    };
    const [ok, no] = ["ok", "content_blocked"];
    expect(await codes(["chat-*"])).toEqual([no, no, no]);
    expect(await codes(["gpt", "other"])).toEqual([ok, ok, ok]);
    const answers = guarded([mail("block", { lookAt: ["answers"] })]);
    expect((await answers.ask(user(secret))).code).toBe(ok);
  });

  test.each(["closed", "open"] as const)("that fails, %s", async (onFailure) => {
    const said: unknown[] = [];
    const log = { ...silent, warn: (...line: unknown[]) => void said.push(line) };
    const { checker } = saying(() => {
      throw new Error("boom");
    });
    const { ask, backend } = guarded(
      [guardOf("a", checker, { onFailure })],
      says("Hi"),
      {},
      { log },
    );
    const { code, error, warnings } = await ask(user("Hello"));
    if (onFailure === "closed") {
      expect([code, error?.http, error?.message]).toEqual([
        "unavailable",
        503,
        'the guard "a" can\'t look at this now',
      ]);
      expect(backend.asked).toEqual([]);
    } else {
      expect([code, warnings]).toEqual([
        "ok",
        ['guards: "a" failed, not all texts were looked at'],
      ]);
    }
    expect(said[0]).toMatchObject([{ guard: "a", onFailure }, "a guard failed"]);
  });

  test.each<[string, LintelError | boolean, string, string]>([
    [
      "that fails",
      new LintelError("internal", "no process"),
      "unavailable",
      "can't look at it now",
    ],
    [
      "with faults",
      true,
      "content_blocked",
      "can't look at it: the PDF has faults, some of its text may be missing",
    ],
  ])("has a reader of PDFs %s: its document is named, or passes", async (_, told, code, words) => {
    const callers: string[] = [];
    const documents: DocumentReader = {
      async read(_pdf, caller) {
        callers.push(caller);
        if (told instanceof LintelError) throw told;
        return { text: "Hi", pages: 1, blank: 0, damaged: true };
      },
    };
    const messages = [{ role: "user", parts: [file("application/pdf", "%PDF-1.4")] }];
    const param = "messages[0].parts[0].file.file_data";
    const said: unknown[] = [];
    const log = { ...silent, warn: (...line: unknown[]) => void said.push(line[1]) };
    const closed = guarded([mail()], says("Hi"), {}, { documents, log });
    const { error } = await closed.ask({ messages }, "countTokens");
    expect([error?.code, error?.param, error?.message]).toEqual([
      code,
      param,
      `${param}: the guard "mail" ${words}`,
    ]);
    // Of what is its caller's fault an operator hears nothing.
    const failed = code === "unavailable" ? ["a guard failed"] : [];
    expect(said.filter((words) => words === "a guard failed")).toEqual(failed);
    const open = guarded([mail("mask", { onFailure: "open" })], says("Hi"), {}, { documents });
    const { warnings } = await open.ask({ messages }, "countTokens", { credential: "other" });
    expect(warnings[0]).toMatch(/^guards: "mail" (?:failed|can't look)/);
    // Each caller has its turn.
    expect(new Set(callers).size).toBe(2);
  });

  test("has no more PDFs read once its caller has left", async () => {
    const caller = new AbortController();
    let reads = 0;
    const documents: DocumentReader = {
      async read(_pdf, _caller, signal) {
        reads++;
        caller.abort();
        throw signal.reason;
      },
    };
    const { ask, backend } = guarded([mail()], says("Hi"), {}, { documents });
    const pdf = file("application/pdf", "%PDF-1.4");
    const call = ask({ messages: [{ role: "user", parts: [pdf, pdf] }] }, "complete", {
      signal: caller.signal,
    });
    expect((await call).code).toBe("cancelled");
    expect([reads, backend.asked]).toEqual([1, []]);
  });

  test("is not waited for once its caller has left", async () => {
    const caller = new AbortController();
    const said: unknown[] = [];
    const log = { ...silent, warn: (...line: unknown[]) => void said.push(line) };
    const { checker } = saying(
      () =>
        new Promise((_, fail) =>
          caller.signal.addEventListener("abort", () => fail(new Error("x"))),
        ),
    );
    const open = guarded([guardOf("a", checker, { onFailure: "open" })], says("Hi"), {}, { log });
    const call = open.ask(user("Hello"), "complete", { signal: caller.signal });
    setImmediate(() => caller.abort());
    expect((await call).code).toBe("cancelled");
    await open.core.idle();
    await new Promise(setImmediate);
    // It did not fail.
    expect([open.backend.asked, said]).toEqual([[], []]);
  });

  test.each(["complete", "chat"] as const)(
    "has nobody asked by %s whose caller left while it looked",
    async (method) => {
      const caller = new AbortController();
      const { checker } = saying(async () => {
        caller.abort();
        return { action: "pass" };
      });
      const lookAt = ["prompts", "answers"] as const;
      const { ask, backend, core } = guarded([guardOf("a", checker, { lookAt })]);
      const { code } = await ask(user("Hello"), method, { signal: caller.signal });
      expect(code).toBe("cancelled");
      await core.idle();
      await new Promise(setImmediate);
      expect(backend.asked).toEqual([]);
    },
  );

  test("refuses calls that count as requests all the same", async () => {
    const limits = {
      settings: { caller: { requestsPerMinute: 1 }, models: [], global: {} },
      prices: [],
      store: memoryLimits(),
    };
    const { ask } = guarded([mail("block")], says("Hi"), {}, { limits });
    expect((await ask(user(secret))).code).toBe("content_blocked");
    expect((await ask(user("Hello"))).code).toBe("rate_limited");
  });

  test("masks before answers are looked for: who wrote another secret asked the same", async () => {
    const cache = { ttlMs: 60_000, scope: "caller", maxAnswerBytes: 1000 } as const;
    const chat: Handle<"chat"> = says("Hi");
    const { ask, backend } = guarded([mail()], chat, { cache }, { cache: memoryCache(10_000) });
    await ask(user("I am a@example.com"));
    const { metadata } = await ask(user("I am b@example.com"));
    expect(metadata.get("cache-status")).toContain("hit");
    expect(backend.asked).toHaveLength(1);
  });

  test.each(["complete", "chat"] as const)(
    "says nothing in answers by %s that are kept for others",
    async (method) => {
      const cache = { ttlMs: 60_000, scope: "all", maxAnswerBytes: 1000 } as const;
      const settings = { cache };
      const chat: Handle<"chat"> = async function* (call) {
        call.warnings.add("the seed was dropped");
        yield* says("Hi")(call);
      };
      const parts = { cache: memoryCache(10_000) };
      const { ask, backend } = guarded([mail()], chat, settings, parts);
      const words = async (content: string) => {
        const { messages, warnings } = await ask(user(content), method);
        expect((messages.at(-1) as LLMResponse).warnings.toSorted()).toEqual(warnings.toSorted());
        return warnings.toSorted();
      };
      const masked = 'guards: "mail" replaced a part of the request';
      expect(await words(secret)).toEqual([masked, "the seed was dropped"]);
      expect(await words("[email]")).toEqual(["the seed was dropped"]);
      expect(backend.asked).toHaveLength(1);
    },
  );
});
