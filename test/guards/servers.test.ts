/** Guards that ask servers: a moderation endpoint, and a server of the operator's. */
import { createHash } from "node:crypto";
import { getEventListeners, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { guardsSchema } from "../../src/config/guards.js";
import { LintelError } from "../../src/core/errors.js";
import type { GuardedCall } from "../../src/core/guards/guard.js";
import { silent } from "../../src/core/log.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { moderationGuard } from "../../src/guards/moderation.js";
import { type OwnedChecker, openGuards } from "../../src/guards/open.js";
import { webhookGuard } from "../../src/guards/webhook.js";
import { guarded, guardOf, user } from "../core/guarding.js";
import { never } from "../support/calls.js";
import { isSignedWith, secrets } from "../support/webhook-secrets.js";

interface Seen {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** The body as it came. */
  readonly raw: string;
}

type Answer = { status?: number; headers?: Record<string, string>; body: unknown } | undefined;

/** A server that answers so, or hangs where that is nothing; its address, and what it was asked. */
async function serving(answer: (body: Seen["body"]) => Answer | Promise<Answer>) {
  const seen: Seen[] = [];
  const http = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    seen.push({ path: request.url, headers: request.headers, body, raw: text });
    const said = await answer(body);
    if (!said) return;
    response.writeHead(said.status ?? 200, { "content-type": "application/json", ...said.headers });
    response.end(JSON.stringify(said.body));
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, seen };
}

const closing = (checker: OwnedChecker) => {
  onTestFinished(() => checker.close?.());
  return checker;
};

const about: GuardedCall = { id: "1", model: "m", caller: "me", side: "prompt", signal: never };
const texts = [
  { field: "messages[0].content", role: "system", text: "Be kind." },
  { field: "messages[1].content", role: "user", text: "bad" },
];

const images = ["data:image/png;base64,AA==", "https://images.example.com/a.png"].map((url, i) => ({
  field: `messages[1].parts[${i}].image_url.url`,
  role: "user",
  url,
}));

describe("a moderation endpoint", () => {
  /** As OpenAI's reference of `POST /v1/moderations` has it, omni-moderation-latest, 2026. */
  const results = (input: unknown) =>
    (input as string[]).map((text) => ({
      flagged: text.includes("bad"),
      categories: { violence: text.includes("bad"), hate: false },
      category_scores: { violence: 0.9, hate: 0.1 },
    }));
  const settings = (url: string, action: "block" | "flag" = "block") =>
    ({ url, api_key: "sk-secret", model: "omni", timeout: 5000, action }) as const;

  test("is asked about all texts at once, and the first that it flags is the one at fault", async () => {
    const { url, seen } = await serving(({ input }) => ({ body: { results: results(input) } }));
    const checker = closing(moderationGuard(settings(url)));
    const found = ["violence"];
    const { field } = texts[1] ?? {};
    expect(await checker.check(texts, about)).toEqual({ action: "block", found, field });
    expect(await checker.check(texts.slice(0, 1), about)).toEqual({ action: "pass" });
    expect(seen[0]).toMatchObject({
      path: "/v1/moderations",
      headers: { authorization: "Bearer sk-secret" },
      body: { model: "omni", input: ["Be kind.", "bad"] },
    });
    const flags = closing(moderationGuard(settings(`${url}/api/`, "flag")));
    expect(await flags.check(texts, about)).toEqual({ action: "flag", found });
    expect(seen.at(-1)?.path).toBe("/api/moderations");
  });

  describe("that is remembered", () => {
    const png = "data:image/png;base64,AA==";
    const image = (url: string) => [
      { field: "messages[0].parts[0].image_url.url", role: "user", url },
    ];
    const turns = (...said: string[]) =>
      said.map((text, i) => ({ field: `messages[${i}].content`, role: "user", text }));
    const remembering = async (
      answer = (input: unknown): object => ({ results: results(input) }),
    ) => {
      const { url, seen } = await serving(({ input }) => ({ body: answer(input) }));
      let now = 0;
      const checker = closing(moderationGuard({ ...settings(url), remember: 1000 }, () => now));
      const asked = () => seen.splice(0).map(({ body }) => body.input);
      const wait = (ms: number) => {
        now += ms;
      };
      return { checker, asked, wait };
    };

    test("is asked about what is new in a conversation", async () => {
      const { checker, asked } = await remembering();
      expect(await checker.check(turns("a", "b"), about)).toEqual({ action: "pass" });
      expect(await checker.check(turns("a", "b", "c"), about)).toEqual({ action: "pass" });
      expect(await checker.check(turns("a", "b", "c"), about)).toEqual({ action: "pass" });
      expect(asked()).toEqual([["a", "b"], ["c"]]);
    });

    test("flags what it flagged, in its field, beside what is new", async () => {
      const { checker, asked } = await remembering();
      const block = { action: "block", found: ["violence"], field: "messages[1].content" };
      expect(await checker.check(turns("a", "bad"), about)).toEqual(block);
      expect(await checker.check(turns("new", "bad", "a"), about)).toEqual(block);
      expect(await checker.check(turns("a", "bad one", "bad"), about)).toEqual(block);
      expect(asked()).toEqual([["a", "bad"], ["new"], ["bad one"]]);
    });

    test("is asked again once that was long ago, however often it was asked for meanwhile", async () => {
      const unflagged = { flagged: false, categories: {} };
      const { checker, asked, wait } = await remembering(() => ({ results: [unflagged] }));
      const look = async () => {
        await checker.check(turns("a"), about);
        await checker.check([], about, image(png));
      };
      await look();
      wait(999);
      await look();
      expect(asked()).toHaveLength(2);
      wait(1);
      await look();
      expect(asked()).toHaveLength(2);
    });

    test("knows images by what is in them, not those at an address, nor texts that say the same", async () => {
      const { checker, asked } = await remembering((input) => {
        const [first] = input as [unknown];
        return { results: [{ flagged: typeof first !== "string", categories: {} }] };
      });
      const flagged = { action: "block", found: [], field: image("")[0]?.field };
      expect(await checker.check(turns(png), about)).toEqual({ action: "pass" });
      for (const url of [png, png, "https://a/b.png", "https://a/b.png"]) {
        expect(await checker.check([], about, image(url))).toEqual(flagged);
      }
      expect(asked()).toHaveLength(4);
      expect(await checker.check(turns(png), about)).toEqual({ action: "pass" });
      expect(asked()).toEqual([]);
    });

    test("is asked about each piece of an answer", async () => {
      const { checker, asked } = await remembering();
      const answer = { ...about, side: "answer" as const };
      for (let i = 0; i < 2; i++) await checker.check(turns("a"), answer);
      await checker.check(turns("a"), about);
      expect(asked()).toEqual([["a"], ["a"], ["a"]]);
    });

    test("is not where it told of some alone", async () => {
      const { checker, asked } = await remembering(() => ({ results: [{ flagged: false }] }));
      for (let i = 0; i < 2; i++) {
        await expect(checker.check(turns("a", "b"), about)).rejects.toThrow("without a verdict");
      }
      expect(asked()).toEqual([
        ["a", "b"],
        ["a", "b"],
      ]);
      // Of one that is new it tells.
      expect(await checker.check(turns("a"), about)).toEqual({ action: "pass" });
      expect(await checker.check(turns("a", "b"), about)).toEqual({ action: "pass" });
      expect(asked()).toEqual([["a"], ["b"]]);
    });
  });

  test("is told the strings of arguments together", async () => {
    const { url, seen } = await serving(({ input }) => ({ body: { results: results(input) } }));
    const checker = closing(moderationGuard(settings(url)));
    const field = "messages[0].tool_calls[0].function.arguments";
    const strings = ["city", "bad town"].map((text) => ({ field, text }));
    const verdict = await checker.check([texts[0] as never, ...strings, texts[1] as never], about);
    expect(verdict).toMatchObject({ action: "block", field });
    expect(seen[0]?.body.input).toEqual(["Be kind.", "city\nbad town", "bad"]);
  });

  test("is asked about each image by itself, beside the texts", async () => {
    const bad = images[1]?.url;
    const { url, seen } = await serving(({ input }) => {
      const [first] = input as [string | { image_url: { url: string } }];
      const flagged = typeof first !== "string" && first.image_url.url === bad;
      const results = (input as unknown[]).map(() => ({ flagged, categories: { violence: true } }));
      return { body: { results } };
    });
    const checker = closing(moderationGuard(settings(url)));
    const { field } = images[1] ?? {};
    const found = ["violence"];
    expect(await checker.check(texts, about, images)).toEqual({ action: "block", found, field });
    const inputs = seen.map(({ body }) => body.input);
    expect(inputs).toHaveLength(3);
    expect(inputs).toContainEqual(["Be kind.", "bad"]);
    for (const { url } of images) {
      expect(inputs).toContainEqual([{ type: "image_url", image_url: { url } }]);
    }
    // No text is no question.
    seen.splice(0);
    expect(await checker.check([], about, images.slice(0, 1))).toEqual({ action: "pass" });
    expect(seen).toHaveLength(1);
  });

  test.each<[string, { status?: number; body: unknown }]>([
    ["an error", { status: 500, body: { error: { message: "boom" } } }],
    ["no results", { body: { results: [] } }],
    ["half a verdict", { body: { results: [{ flagged: false }] } }],
    ["no verdict", { body: { results: [{ flagged: false }, {}] } }],
  ])("that answers with %s fails", async (_, answer) => {
    const { url } = await serving(() => answer);
    const checker = closing(moderationGuard(settings(url)));
    const error = await Promise.resolve(checker.check(texts, about)).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "upstream_failed" });
    expect(String(error)).not.toMatch(/127\.0\.0\.1|sk-secret/);
  });

  test("is asked few questions of one call at once, and none more once one took too long", async () => {
    const running = { most: 0, now: 0 };
    const waiting: (() => void)[] = [];
    const release = () => {
      for (const go of waiting.splice(0)) go();
    };
    const { url, seen } = await serving(async ({ input }) => {
      running.most = Math.max(running.most, ++running.now);
      await new Promise<void>((go) => {
        // Others that were sent come meanwhile.
        if (waiting.push(go) === 4) setTimeout(release, 30);
      });
      running.now--;
      return { body: { results: (input as unknown[]).map(() => ({ flagged: false })) } };
    });
    const many = Array.from({ length: 11 }, () => images[0] as (typeof images)[0]);
    const checker = closing(moderationGuard(settings(url)));
    expect(await checker.check(texts, about, many)).toEqual({ action: "pass" });
    expect([seen.length, running.most]).toEqual([12, 4]);
    const hung = await serving(() => undefined);
    const late = closing(moderationGuard({ ...settings(hung.url), timeout: 20 }));
    await expect(late.check(texts, about, many)).rejects.toMatchObject({ code: "timeout" });
    expect(hung.seen.length).toBeLessThanOrEqual(4);
  });

  test("is asked no more once the caller has left", async () => {
    const caller = new AbortController();
    const { url, seen } = await serving(() => {
      caller.abort(new LintelError("cancelled", "the caller left"));
      return undefined;
    });
    const many = Array.from({ length: 11 }, () => images[0] as (typeof images)[0]);
    const checker = closing(moderationGuard(settings(url)));
    const call = checker.check(texts, { ...about, signal: caller.signal }, many);
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    expect(seen.length).toBeLessThanOrEqual(4);
  });

  test("that can't look at an image still blocks what it flags", async () => {
    const { url } = await serving(({ input }) => {
      const [first] = input as [string | object];
      if (typeof first === "string") return { body: { results: results(input) } };
      return { status: 400, body: { error: { message: "Invalid image." } } };
    });
    const checker = closing(moderationGuard(settings(url)));
    const { ask } = guarded([guardOf("a", checker, { images: true, onFailure: "open" })]);
    const parts = (text: string) => [
      { type: "image_url", imageUrl: { url: images[0]?.url } },
      { type: "text", text },
    ];
    const asked = (text: string) => ask({ messages: [{ role: "user", parts: parts(text) }] });
    expect((await asked("bad")).error?.param).toBe("messages[0].parts[1].text");
    expect(await asked("good")).toMatchObject({
      code: "ok",
      warnings: ['guards: "a" can\'t look at a file or an image, which was passed on'],
    });
    const flags = closing(moderationGuard(settings(url, "flag")));
    await expect(flags.check(texts, about, images)).rejects.toThrow();
  });

  test.each([
    [400, "content_blocked", "can't look at it: its server refuses it"],
    [500, "unavailable", "can't look at it now"],
    [429, "unavailable", "can't look at it now"],
  ])("that answers with %i about an image has that named", async (status, expected, words) => {
    const { url } = await serving(({ input }) => {
      const [first] = input as [string | object];
      if (typeof first === "string") return { body: { results: results(input) } };
      return { status, body: { error: { message: "Invalid image." } } };
    });
    const lines: object[] = [];
    const tell = (fields: object) => void lines.push(fields);
    const log = { ...silent, info: tell, warn: tell };
    const checker = closing(moderationGuard(settings(url)));
    const { ask } = guarded([guardOf("a", checker, { images: true })], undefined, {}, { log });
    const parts = images.map(({ url }) => ({ type: "image_url", imageUrl: { url } }));
    const { code, error } = await ask({ messages: [{ role: "user", parts }] });
    const param = "messages[0].parts[0].image_url.url";
    expect([code, error?.param, error?.message]).toEqual([
      expected,
      param,
      `${param}: the guard "a" ${words}`,
    ]);
    const cause = status === 400 ? "its server refuses it" : "the moderation server";
    expect(lines.at(-1)).toMatchObject({ cause: expect.stringContaining(cause) });
  });

  test("that says when it can be asked again has its callers wait as long", async () => {
    const { url } = await serving(() => ({
      status: 429,
      headers: { "retry-after": "17" },
      body: { error: { message: "Too many." } },
    }));
    const { ask } = guarded([guardOf("a", closing(moderationGuard(settings(url))))]);
    expect((await ask(user("Hello"))).error).toMatchObject({ code: "unavailable", retryAfter: 17 });
  });

  test("is asked about a piece of a stream with what is ahead of it", async () => {
    const { url, seen } = await serving(({ input }) => ({ body: { results: results(input) } }));
    const checker = closing(moderationGuard(settings(url)));
    const piece = { field: "choices[0].delta.content", before: "ba", text: "d" };
    expect(await checker.check([piece], about)).toMatchObject({ action: "block" });
    expect(seen[0]?.body.input).toEqual(["bad"]);
  });

  test("that flags one of fewer results than texts blocks, and no field is named", async () => {
    const { url } = await serving(() => ({ body: { results: [{ flagged: true }] } }));
    const { ask } = guarded([guardOf("a", closing(moderationGuard(settings(url))))]);
    const messages = [...user("a").messages, ...user("b").messages];
    const { code, error } = await ask({ messages });
    expect([code, error?.param, error?.message]).toEqual([
      "content_blocked",
      undefined,
      'the request was blocked by the guard "a"',
    ]);
  });
});

describe("a webhook", () => {
  const settings = (url: string) => ({
    name: "company",
    url: `${url}/check?v=1`,
    api_key: "secret-key",
    headers: { "X-Team": "a" },
    pass_user: "never" as const,
    timeout: 5000,
  });
  const webhook = (url: string, more = {}) => closing(webhookGuard({ ...settings(url), ...more }));

  test("is told the call and its texts", async () => {
    const { url, seen } = await serving(() => ({ body: { action: "allow" } }));
    expect(await webhook(url).check(texts, about)).toEqual({ action: "pass" });
    expect(seen).toMatchObject([
      {
        path: "/check?v=1",
        headers: { authorization: "Bearer secret-key", "x-team": "a" },
        body: { guard: "company", id: "1", model: "m", caller: "me", side: "prompt", texts },
      },
    ]);
    expect(Object.keys(seen[0]?.body ?? {})).toHaveLength(6);
  });

  test("is signed each time where there are secrets, by all of them", async () => {
    const { url, seen } = await serving(() => ({ body: { action: "allow" } }));
    const open = async (more: object) => {
      const config = { name: "company", type: "webhook", url, ...more };
      const opened = await openGuards(guardsSchema.parse([config]));
      onTestFinished(() => opened?.close());
      return opened?.guards[0]?.checker as OwnedChecker;
    };
    const { headers, raw } = { headers: { "webhook-signature": "mine", "X-Team": "a" }, raw: "ä" };
    const [newest, old, other] = secrets;
    const signed = await open({ headers, signing_secrets: [newest, old] });
    for (const text of [raw, "b"]) await signed.check([{ field: "prompt", text }], about);
    for (const one of seen) {
      expect(one.headers).toMatchObject({ "x-team": "a" });
      const by = [newest, old, other].map((secret) => isSignedWith(secret, one));
      expect(await Promise.all(by)).toEqual([true, true, false]);
      expect(await isSignedWith(newest, { ...one, raw: `${one.raw} ` })).toBe(false);
    }
    expect(new Set(seen.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
    await (await open({})).check(texts, about);
    const names = Object.keys(seen.at(-1)?.headers ?? {});
    expect(names.filter((name) => name.startsWith("webhook-"))).toEqual([]);
  });

  test("is shown what is ahead of a piece of a stream", async () => {
    const { url, seen } = await serving(() => ({ body: { action: "allow" } }));
    const piece = { field: "choices[0].delta.content", role: "assistant", before: "a", text: "b" };
    await webhook(url).check([piece], { ...about, side: "answer" });
    expect(seen[0]?.body).toMatchObject({ side: "answer", texts: [piece] });
  });

  test("is told the team, and whom the call is for where it is to know", async () => {
    const { url, seen } = await serving(() => ({ body: { action: "allow" } }));
    const asked = { ...about, team: "blue", user: "customer-1" };
    for (const pass_user of ["never", "hashed", "plain"]) {
      await webhook(url, { pass_user }).check(texts, asked);
    }
    const hashed = createHash("sha256").update("customer-1").digest("hex");
    expect(seen.map(({ body: { team, user } }) => [team, user])).toEqual([
      ["blue", undefined],
      ["blue", hashed],
      ["blue", "customer-1"],
    ]);
    const guard = guardOf("company", webhook(url, { pass_user: "plain" }));
    const whose = { user: "customer-2" };
    const token = createToken();
    const tokens = [{ name: "a", hash: hashToken(token), team: "red", models: ["*"] }];
    const { ask } = guarded([guard], undefined, { auth: { mode: "token", tokens } });
    const { code } = await ask({ ...user("Hello"), ...whose }, "complete", { credential: token });
    expect(code).toBe("ok");
    expect(seen.at(-1)?.body).toMatchObject({ ...whose, caller: "a", team: "red" });
  });

  test("has the operator's own headers in the place of its own, and holds nothing of a call that is over", async () => {
    const { url, seen } = await serving(() => ({ body: { action: "allow" } }));
    const { signal } = new AbortController();
    const checker = webhook(url, { headers: { Authorization: "Basic eA==" } });
    await checker.check(texts, { ...about, signal });
    expect(seen[0]?.headers.authorization).toBe("Basic eA==");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("tells callers so much of its reason", async () => {
    const { url } = await serving(() => ({ body: { action: "block", reason: "x".repeat(301) } }));
    const { ask } = guarded([guardOf("company", webhook(url))]);
    const said = `the request was blocked by the guard "company": ${"x".repeat(300)}`;
    expect((await ask(user("Hello"))).error?.message).toBe(said);
  });

  test("blocks with its reason, and names the field", async () => {
    const answer = { action: "block", field: "messages[1].content", reason: "no weapons" };
    const { url } = await serving(() => ({ body: answer }));
    const { ask, backend } = guarded([guardOf("company", webhook(url))]);
    const messages = [...user("Hello").messages, ...user("guns").messages];
    const { error } = await ask({ messages }, "chat");
    expect(error).toMatchObject({
      code: "content_blocked",
      param: "messages[1].content",
      message: 'messages[1].content: was blocked by the guard "company": no weapons',
    });
    expect(backend.asked).toEqual([]);
  });

  test("is shown images where it is to look at them, and names one", async () => {
    const { field = "" } = images[1] ?? {};
    const answer = { action: "block", field, reason: "no faces" };
    const { url, seen } = await serving(() => ({ body: answer }));
    const verdict = await webhook(url).check(
      texts,
      about,
      images.map((image, message) => ({ ...image, message })),
    );
    expect(verdict).toMatchObject({ action: "block", field, reason: "no faces" });
    expect(seen[0]?.body).toMatchObject({ texts });
    expect(seen[0]?.body.images).toEqual(images);
  });

  test("replaces texts", async () => {
    const { url } = await serving(({ texts }) => {
      const said = (texts as { text: string }[]).map(({ text }) => text.toUpperCase());
      return { body: { action: "replace", texts: said, reason: "loud" } };
    });
    const { ask, backend } = guarded([guardOf("company", webhook(url))]);
    const { warnings } = await ask(user("Hello"));
    expect(backend.asked[0]).toMatchObject(user("HELLO"));
    expect(warnings).toEqual(['guards: "company" replaced a part of the request']);
    // Where nothing is another, nothing was replaced.
    expect((await ask(user("LOUD"))).warnings).toEqual([]);
  });

  test("that divides a character leaves no half of it: model servers refuse those", async () => {
    const { url } = await serving(() => ({
      body: { action: "replace", texts: ["a\ud83d", "\ude00b"] },
    }));
    expect(await webhook(url).check(texts, about)).toMatchObject({ texts: ["a\ufffd", "\ufffdb"] });
  });

  test.each<[string, unknown]>([
    ["nothing", {}],
    ["an unknown action", { action: "maybe" }],
    ["fewer texts than it was asked about", { action: "replace", texts: ["a"] }],
    ["texts that are none", { action: "replace", texts: ["a", 1] }],
    ["a list", [{ action: "allow" }]],
  ])("that answers with %s fails", async (_, body) => {
    const { url } = await serving(() => ({ body }));
    await expect(webhook(url).check(texts, about)).rejects.toMatchObject({
      code: "upstream_failed",
      message: "the guard's server answered without a verdict",
    });
  });

  test("has its time, and passes where the operator wants it so", async () => {
    const { url } = await serving(() => undefined);
    const slow = webhook(url, { timeout: 20 });
    await expect(slow.check(texts, about)).rejects.toMatchObject({
      code: "timeout",
      message: "the guard's server took too long",
    });
    const { ask } = guarded([guardOf("company", slow, { onFailure: "open" })]);
    expect((await ask(user("Hello"))).code).toBe("ok");
  });

  test("that can't be reached is told of in the log as what it is, and no model server", async () => {
    const lines: object[] = [];
    const log = { ...silent, warn: (fields: object) => void lines.push(fields) };
    const gone = webhook("http://127.0.0.1:9");
    const { ask } = guarded([guardOf("company", gone)], undefined, {}, { log });
    const { code, error } = await ask(user("Hello"));
    expect([code, error?.param, error?.message]).toEqual([
      "unavailable",
      undefined,
      'the guard "company" can\'t look at this now',
    ]);
    const why = "the guard's server can't be reached";
    expect(lines).toMatchObject([
      { guard: "company", err: { code: "upstream_unreachable", message: why } },
      { cause: expect.stringContaining(why), backend: undefined, attempts: 0 },
    ]);
  });

  test("is waited for no more once it is closed, with all guards", async () => {
    const { url } = await serving(() => undefined);
    const opened = await openGuards(
      guardsSchema.parse([{ type: "webhook", ...settings(url), timeout: "5s" }]),
    );
    const asked = expect(opened?.guards[0]?.checker.check(texts, about)).rejects.toMatchObject({
      code: "shutting_down",
    });
    await opened?.close();
    await asked;
  });
});
