/** What guards find in streams: what is held back of them, how they are asked in pieces, and what the log has of it. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import type { CallSignal } from "../../src/core/cancellation.js";
import { deltaChoice } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import type { Checker, Guard } from "../../src/core/guards/guard.js";
import { guardedStream } from "../../src/core/guards/stream.js";
import { silent } from "../../src/core/log.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { Warnings } from "../../src/core/warnings.js";
import { type PatternSettings, patternChecker } from "../../src/guards/pattern.js";
import { never } from "../support/calls.js";
import {
  breaksAfter,
  hangsAfter,
  piece,
  says,
  stopsAt,
  thinks,
  thought,
} from "../support/scripted.js";
import { asked, got, letters } from "./guarded-answers.js";
import { guarded, guardOf, mail, user } from "./guarding.js";

const secret = "me@example.com";
const answers = { lookAt: ["answers"] } as const satisfies Partial<Guard>;

/** One that looks for what is said, in answers. */
const pattern = (settings: Partial<PatternSettings>) =>
  guardOf(
    "p",
    patternChecker({ name: "p", find: [], patterns: [], action: "mask", ...settings }),
    answers,
  );

describe("a stream", () => {
  test("is held back only as far as something may begin", async () => {
    const { ask } = guarded([mail("mask", answers)], letters("One two, me@a.de. "));
    const { pieces } = got((await ask(user("Hello"), "chat")).messages);
    expect(pieces).toEqual(["One ", "two,", " ", "[email]. "]);
  });

  test.each([1, 2, 3, 7, 50])("is masked wherever its pieces of %i end", async (length) => {
    const rest = ", x".repeat(150);
    const text = `Hi. ${secret} DE89 3704 0044 0532 0130 00, 4111 1111 1111 1111 sk-0123456789abcdef0123456789 😀 PROJECT-123456 end${rest}`;
    const parts = text.match(new RegExp(`.{1,${length}}`, "gsu")) ?? [];
    const guard = pattern({
      find: ["email", "iban", "credit_card", "api_key"],
      patterns: ["PROJECT-\\d{6}"],
    });
    const { ask } = guarded([guard], says(...parts));
    const { content, reason } = got((await ask(user("Hello"), "chat")).messages);
    expect([content, reason]).toEqual([
      `Hi. [email] [iban], [credit_card] [api_key] 😀 [p] end${rest}`,
      "stop",
    ]);
  });

  test.each([1, 7, 64, 700])(
    "has no part of a private key wherever its pieces of %i end",
    async (length) => {
      const line = `${"MIIE".repeat(16)}\n`;
      const heads = ["", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123456789ABCDEF\n\n"];
      const keys = heads.map(
        (head) =>
          `A key:\n-----BEGIN RSA PRIVATE KEY-----\n${head}${line.repeat(20)}-----END RSA PRIVATE KEY-----, `,
      );
      const parts = keys.join("").match(new RegExp(`.{1,${length}}`, "gs")) ?? [];
      const { ask } = guarded([pattern({ find: ["private_key"] })], says(...parts));
      const { content } = got((await ask(user("Hello"), "chat")).messages);
      expect(content).toBe("A key:\n[private_key], ".repeat(2));
    },
  );

  test("has what is said as that where signatures of thoughts come between", async () => {
    const details = JSON.stringify([{ type: "reasoning.encrypted", data: "x" }]);
    const both = thought("", details);
    const chat: Handle<"chat"> = async function* () {
      yield [piece("Hello, wo")];
      yield [thought("", details)];
      yield [piece("rld")];
      Object.assign(both.choices[0]?.delta ?? {}, { content: "!" });
      yield [both];
      yield [piece("", "stop", [7, 3])];
    };
    const { ask } = guarded([mail("mask", answers)], chat);
    const { content, thoughts } = got((await ask(user("Hello"), "chat")).messages);
    expect([content, thoughts]).toEqual(["Hello, world!", ""]);
  });

  test.each(["chat", "complete"] as const)(
    "has the text of stop that ended it (%s)",
    async (method) => {
      const { ask } = guarded([mail("mask", answers)], stopsAt(`It is ${secret}.`, "END"));
      const { messages } = await ask({ ...user("Hello"), stop: ["END"] }, method);
      expect(got(messages).content).toBe("It is [email].");
      expect(messages.at(-1)).toMatchObject({ choices: [{ stopSequence: "END" }] });
    },
  );

  test("has calls when they are complete, also where it says something between their pieces", async () => {
    const part = (id: string, name: string, args: string) => ({
      ...piece(""),
      choices: [deltaChoice("", "", [toolCall(0, id, name, args)])],
    });
    const chat: Handle<"chat"> = async function* () {
      yield [part("a", "send", '{"to":"me@')];
      yield [piece("Sending. ")];
      yield [part("", "", 'example.com"}')];
      yield [piece("", "tool_calls", [7, 3])];
    };
    const { ask } = guarded([mail("mask", answers)], chat);
    const { messages } = await ask(user("Hello"), "chat");
    const { args, content } = got(messages);
    expect([content, args]).toEqual(["Sending. ", '{"to":"[email]"}']);
  });

  test("knows where words begin, also in what it has delivered", async () => {
    const guard = pattern({ patterns: ["\\bcat\\b"] });
    const rest = " x".repeat(300);
    const text = `concat cat category cat${rest}`;
    const { ask } = guarded([guard], letters(text));
    const { content } = got((await ask(user("Hello"), "chat")).messages);
    expect(content).toBe(`concat [p] category [p]${rest}`);
  });

  test("delivers what has no end, masked", async () => {
    const key = `sk-${"a".repeat(30_000)}`;
    const guard = pattern({ find: ["api_key"] });
    const { ask } = guarded([guard], says(...(key.match(/.{1,1000}/g) ?? [])));
    const { content, pieces } = got((await ask(user("Hello"), "chat")).messages);
    expect(content.startsWith("[api_key]")).toBe(true);
    expect(pieces.length).toBeGreaterThan(1);
  });

  test("of which much is held is not looked at for each of its pieces", async () => {
    const { checker } = pattern({ find: ["api_key", "credit_card"] });
    let looks = 0;
    const counting: Checker = {
      ...checker,
      look: (before, text, more) => {
        looks++;
        return (checker as Required<Checker>).look(before, text, more);
      },
    };
    const text = `sk-${"ab1".repeat(1000)} and 4111${"\u200b".repeat(5000)} !`;
    const { ask } = guarded([guardOf("p", counting, answers)], letters(text));
    const { content } = got((await ask(user("Hello"), "chat")).messages);
    expect(content).toBe(`[api_key] and 4111${"\u200b".repeat(5000)} !`);
    expect(looks).toBeLessThan(text.length / 3);
  });

  test("that is blocked after its begin ends with content_filter, and its model server is told", async () => {
    const signals: CallSignal[] = [];
    const chat: Handle<"chat"> = (call) => {
      signals.push(call.signal);
      return says("All is well. ", `Ask ${secret} `, "more")(call);
    };
    const { ask, core } = guarded([mail("block", answers)], chat);
    const { code, messages } = await ask(user("Hello"), "chat");
    const { content, reason, last } = got(messages);
    expect([code, content, reason]).toEqual(["ok", "All is well. ", "content_filter"]);
    expect(last?.usage?.completionTokens).toBeGreaterThan(0);
    // Nobody waits for the model server to count them.
    expect(last?.usageEstimated).toBe(true);
    expect(signals[0]).toMatchObject({ aborted: true, reason: { code: "content_blocked" } });
    await core.idle();
    // It is no fault of the target.
    const [target] = core.routing.snapshot().endpoints;
    expect(target).toMatchObject({ state: "in", attempts: 1, failures: 0, inFlight: 0 });
  });

  test("is asked about in pieces, each shown with what stands ahead of it", async () => {
    const { guard, seen } = asked(() => ({ action: "pass" }));
    const text = "0123456789".repeat(120);
    const { ask } = guarded([guard], says(...(text.match(/.{10}/g) ?? [])));
    const { pieces, content } = got((await ask(user("Hello"), "chat")).messages);
    expect(content).toBe(text);
    expect(pieces.map(({ length }) => length)).toEqual([500, 500, 200]);
    expect(seen.map(({ before = "", text }) => [before.length, text.length])).toEqual([
      [0, 500],
      [256, 500],
      [256, 200],
    ]);
    expect(seen[1]?.before).toBe(text.slice(244, 500));
  });

  test("is shown with whole characters ahead of a piece: JSON has halves, which some servers refuse", async () => {
    const { guard, seen } = asked(() => ({ action: "pass" }));
    const faces = `${"😀".repeat(250)}.`;
    const { ask } = guarded([guard], says(faces, "more"));
    await ask(user("Hello"), "chat");
    expect(seen.map(({ before }) => before)).toEqual([undefined, faces.slice(-255)]);
  });

  test.each([
    ["an address", "me@exam", "ple.com", "[email]"],
    ["a card", "4111 1111 11", "11 1111", "[credit_card]"],
    [
      "a private key",
      `-----BEGIN PRIVATE KEY-----\n${`${"MIIE".repeat(16)}\n`.repeat(10)}`,
      `${`${"MIIE".repeat(16)}\n`.repeat(20)}-----END PRIVATE KEY-----`,
      "[private_key]",
    ],
  ])(
    "holds back the begin of %s at the end of a piece, however long that is",
    async (_what, begin, end, mark) => {
      const words = "All is well, ".repeat(700);
      const guard = pattern({ find: ["email", "credit_card", "private_key"] });
      const { ask } = guarded([guard], says(words + begin, `${end}, `, "and more."));
      const { content, pieces } = got((await ask(user("Hello"), "chat")).messages);
      expect(content).toBe(`${words}${mark}, and more.`);
      expect(pieces[0]?.length).toBeGreaterThan(words.length - 20);
    },
  );

  test("is divided between characters, and says once what was found where it is", async () => {
    const ask = (...pieces: string[]) =>
      guarded([pattern({ patterns: ["secret"] })], says(...pieces)).ask(user("Hello"), "chat");
    // Of the last 256 characters of UTF-16 the first is half of one.
    const faces = `${"😀".repeat(200)}.`;
    const { content, pieces } = got((await ask(faces, "more")).messages);
    expect(content).toBe(`${faces}more`);
    expect(pieces.length).toBeGreaterThan(1);
    for (const one of pieces) expect(Buffer.from(one).toString()).toBe(one);
    // What was found ends where what is held begins.
    const rest = "x".repeat(256);
    expect(got((await ask("secret", rest, "y")).messages).content).toBe(`[p]${rest}y`);
  });

  test("is asked about by the names of its fields", async () => {
    const { guard, seen } = asked(() => ({ action: "pass" }));
    const { ask } = guarded([guard], thinks([thought("Hm")], "Hi"));
    await ask(user("Hello"), "chat");
    const role = "assistant";
    expect(seen).toEqual([
      { field: "choices[0].delta.reasoning_content", role, text: "Hm" },
      { field: "choices[0].delta.content", role, text: "Hi" },
    ]);
  });

  test.each(["stop", "failure"])(
    "has all that is thought where nothing else is: %s",
    async (end) => {
      const chat: Handle<"chat"> = async function* () {
        yield [thought(`Ask ${secret}`)];
        if (end === "failure") throw new LintelError("upstream_failed", "the model server failed");
        yield [piece("", "stop", [7, 3])];
      };
      const { ask } = guarded([mail("mask", answers)], chat);
      const { code, messages } = await ask(user("Hello"), "chat");
      expect([code, got(messages).thoughts]).toEqual([
        end === "stop" ? "ok" : "upstream_failed",
        "Ask [email]",
      ]);
      const [first, ...others] = (messages as LLMResponse[]).map(({ id }) => id);
      expect(first).toMatch(/./);
      for (const id of others) expect(id).toBe(first);
    },
  );

  test("has all that was found in its pieces in one entry of the log, beside that of its prompt", async () => {
    const lines: object[] = [];
    const log = { ...silent, info: (fields: object) => void lines.push(fields) };
    const find = ["email", "credit_card"] as const;
    const settings = { name: "p", find, patterns: [], action: "flag" } as const;
    const guard = guardOf("p", patternChecker(settings), { lookAt: ["prompts", "answers"] });
    const said = says(`Ask ${secret} or `, "pay by 4111 1111 1111 1111 or ", "not at all.");
    await guarded([guard], said, {}, { log }).ask(user(secret), "chat");
    const flagged = { guard: "p", result: "flagged" };
    expect(lines).toMatchObject([
      {
        guards: [
          { ...flagged, side: "prompt", found: ["email"] },
          { ...flagged, side: "answer", found: ["email", "credit_card"] },
        ],
      },
    ]);
  });

  test("has all that a guard does to its pieces in the log, one entry for each", async () => {
    const lines: object[] = [];
    const log = { ...silent, info: (fields: object) => void lines.push(fields) };
    const { guard } = asked(([{ text } = { text: "" }]) => {
      if (text.startsWith("odd")) return { action: "flag", found: ["odd"] };
      if (text.startsWith("bad")) return { action: "replace", found: ["bad"], texts: ["good"] };
      return { action: "block", found: ["worst"] };
    });
    const pieces = ["odd ", "bad ", "odd ", "worst "].map((word) => word.repeat(125));
    const { ask } = guarded([guard], says(...pieces), {}, { log });
    await ask(user("Hello"), "chat");
    const by = { guard: "a", side: "answer" };
    const [{ guards = [] } = {}] = lines as { guards?: object[] }[];
    expect(guards).toHaveLength(3);
    for (const [result, word] of [
      ["flagged", "odd"],
      ["masked", "bad"],
      ["blocked", "worst"],
    ]) {
      expect(guards).toContainEqual({ ...by, result, found: [word] });
    }
  });

  test("of which a later piece is blocked has those before it", async () => {
    const { guard } = asked(([{ text = "" } = {}]) =>
      text.includes("bad") ? { action: "block", found: [] } : { action: "pass" },
    );
    const { ask } = guarded([guard], says("good ".repeat(100), "bad ".repeat(200)));
    const { content, reason } = got((await ask(user("Hello"), "chat")).messages);
    expect([content, reason]).toEqual(["good ".repeat(100), "content_filter"]);
  });

  test("whose guard fails later fails", async () => {
    let turn = 0;
    const { guard } = asked(() => {
      if (turn++ > 0) throw new Error("boom");
      return { action: "pass" };
    });
    const { ask } = guarded([guard], says("good ".repeat(100), "good ".repeat(100)));
    const { code, messages } = await ask(user("Hello"), "chat");
    expect([code, got(messages).content]).toEqual(["unavailable", "good ".repeat(100)]);
  });

  test("whose guard fails at each piece, and lets them pass, has one line in the log", async () => {
    const said: unknown[] = [];
    const log = { ...silent, warn: (...line: unknown[]) => void said.push(line) };
    const { guard, seen } = asked(() => {
      throw new Error("boom");
    });
    const pieces = Array.from({ length: 4 }, () => "good ".repeat(100));
    const { ask } = guarded([{ ...guard, onFailure: "open" }], says(...pieces), {}, { log });
    const { code, messages } = await ask(user("Hello"), "chat");
    expect([code, got(messages).content]).toEqual(["ok", pieces.join("")]);
    expect(seen.length).toBe(4);
    expect(said).toMatchObject([[{ guard: "a", onFailure: "open" }, "a guard failed"]]);
  });

  test("whose guard took too long is delivered without asking it again, and others are asked", async () => {
    const { guard, seen } = asked(() => {
      throw new LintelError("timeout", "the guard's server took too long");
    });
    const pieces = Array.from({ length: 4 }, () => `Ask ${secret}. `.repeat(30));
    const chat: Handle<"chat"> = async function* () {
      for (const one of pieces) yield [piece(one)];
      const call = toolCall(0, "a", "send", `{"to":"${secret}"}`);
      yield [{ ...piece(""), choices: [deltaChoice("", "", [call])] }];
      yield [piece("", "tool_calls", [7, 3])];
    };
    const late = { ...guard, onFailure: "open", lookAt: ["prompts", "answers"] } as const;
    const { ask } = guarded([late, mail("mask", answers)], chat);
    for (const method of ["chat", "complete"] as const) {
      const { code, messages, warnings } = await ask(user("Hello"), method);
      expect([code, got(messages)]).toMatchObject([
        "ok",
        { content: pieces.join("").replaceAll(secret, "[email]"), args: '{"to":"[email]"}' },
      ]);
      expect(warnings).toContain('guards: "a" failed, not all texts were looked at');
    }
    // Of each call once, which is its prompt.
    expect(seen.map(({ field }) => field)).toEqual(Array(2).fill("messages[0].content"));
  });

  describe("that fails in the middle", () => {
    const failing = (...pieces: string[]) =>
      breaksAfter(new LintelError("upstream_failed", "the model server failed"), ...pieces);

    test("has all that was said ahead of it, looked at by each guard", async () => {
      const { guard, seen } = asked(() => ({ action: "pass" }));
      const { ask } = guarded(
        [mail("mask", answers), guard],
        failing("Hello, wo", `rld ${secret}`),
      );
      const { code, messages } = await ask(user("Hello"), "chat");
      const { content, reason } = got(messages);
      const left = "Hello, world [email]";
      expect([code, content, reason]).toEqual(["upstream_failed", left, ""]);
      expect(seen.map(({ text }) => text)).toEqual([left]);
    });

    test("is blocked for what was held, and keeps its failure where a guard fails, too", async () => {
      const blocked = guarded([mail("block", answers)], failing("All is well. ", `Ask ${secret}`));
      const { code, messages } = await blocked.ask(user("Hello"), "chat");
      const { content, reason } = got(messages);
      expect([code, content, reason]).toEqual(["ok", "All is well. Ask ", "content_filter"]);
      const broken = asked(() => {
        throw new Error("boom");
      });
      const both = guarded([broken.guard], failing("Hello"));
      expect(await both.ask(user("Hello"), "chat")).toMatchObject({ code: "upstream_failed" });
      expect(broken.seen).toHaveLength(1);
    });
  });

  test("has what is said, and what is thought, as one text each, whatever comes between", async () => {
    const chat: Handle<"chat"> = async function* () {
      for (const [word, hidden] of [
        ["Ask me@exam", "Not me@exam"],
        ["ple.com.", "ple.com!"],
      ]) {
        yield [piece(word as string)];
        yield [thought(hidden as string)];
      }
      yield [piece("", "stop", [7, 3])];
    };
    const { ask } = guarded([mail("mask", answers)], chat);
    const { content, thoughts } = got((await ask(user("Hello"), "chat")).messages);
    // Of a thought nothing is held once the model says something.
    expect([content, thoughts]).toEqual(["Ask [email].", "Not me@exam[email]!"]);
  });

  test("ends for a caller who leaves, and no guard is asked about what was held", async () => {
    const { handle, aborted } = hangsAfter("All is well. ");
    const { guard, seen } = asked(() => ({ action: "pass" }));
    const { ask, core } = guarded([guard], handle);
    const caller = new AbortController();
    const call = ask(user("Hello"), "chat", { signal: caller.signal });
    setImmediate(() => caller.abort());
    expect((await call).code).toBe("cancelled");
    await aborted;
    await core.idle();
    expect(seen).toEqual([]);
  });
});

test("a last piece that says something, too, says it once", async () => {
  const around = { attributes: {}, warnings: new Warnings(), log: silent, signal: never };
  const call = { ...around, request: {} } as never;
  const source = async function* () {
    yield [{ ...piece(`I am ${secret}`, "stop", [7, 3]), warnings: ["heed this"] }];
  };
  const messages: LLMResponse[] = [];
  for await (const batch of guardedStream(source(), call, mail("mask", answers), () => {})) {
    messages.push(...batch);
  }
  const counted = messages.map(({ usage, warnings }) => [usage?.completionTokens, ...warnings]);
  expect(counted).toEqual([[0], [0], [3, "heed this"]]);
  expect(got(messages)).toMatchObject({
    content: "I am [email]",
    reason: "stop",
    last: { usage: { completionTokens: 3 } },
  });
});
