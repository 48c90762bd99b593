/** An issuer's keys: read, changed, gone, and away. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateKeyPair } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { eachWithIssuer, who } from "./corp.js";

const corp = eachWithIssuer();
const { callersOf } = corp;

describe("keys", () => {
  test("a new key is found, a key that is gone does not count any more", async () => {
    const callers = callersOf();
    const first = await corp.issuer.sign();
    await callers.find(first);
    await corp.issuer.rotate("RS256");
    const second = await corp.issuer.sign({ sub: "bob" });
    expect(await who(callers, second)).toMatchObject({ id: "corp:bob" });
    expect(await who(callers, first)).toMatchObject({ id: "corp:alice" });
    await corp.issuer.rotate("ES256", true);
    expect(await who(callers, await corp.issuer.sign({ sub: "eve" }))).toMatchObject({
      id: "corp:eve",
    });
    expect(await who(callers, first)).toMatch("key that its issuer does not have");
  });

  test("tokens that name no key are tried with each of the issuer's that fit", async () => {
    const none = { kid: null };
    const alone = await corp.issuer.sign({ sub: "alone" }, none);
    await corp.issuer.rotate();
    const callers = callersOf();
    const token = await corp.issuer.sign({ sub: "bob" }, none);
    expect(await who(callers, alone)).toMatchObject({ id: "corp:alone" });
    expect(await who(callers, token)).toMatchObject({ id: "corp:bob" });
    expect(callers.find(token)).toMatchObject({ id: "corp:bob" });
    expect(await who(callers, await corp.issuer.sign({ aud: "elsewhere" }, none))).toMatch(
      "meant for another service",
    );
    const key = await generateKeyPair("ES256");
    expect(await who(callers, await corp.issuer.sign({}, { ...none, key }))).toMatch(
      "has a signature that is not right",
    );
  });

  test("a key that is too short keeps no token from another that fits", async () => {
    await corp.issuer.rotate("RS256", true);
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    corp.issuer.others.push({ ...publicKey.export({ format: "jwk" }), kid: "short" });
    const callers = callersOf();
    expect(await who(callers, await corp.issuer.sign({}, { kid: null }))).toMatchObject({
      id: "corp:alice",
    });
    expect(await who(callers, await corp.issuer.sign({}, { kid: "short" }))).toBe(
      "invalid_token: the bearer token is signed with a key that can't be used",
    );
  });

  test("an issuer that does not answer in its time holds nobody up", async () => {
    const patience = new AbortController();
    const spied = vi.spyOn(AbortSignal, "timeout").mockReturnValue(patience.signal);
    onTestFinished(() => spied.mockRestore());
    const token = await corp.issuer.sign();
    const held = corp.issuer.held();
    const found = who(callersOf(), token);
    await held;
    patience.abort(new DOMException("too late", "TimeoutError"));
    expect(await found).toBe("unavailable: the bearer token can't be checked now");
    expect(spied).toHaveBeenCalledWith(5000);
  });

  test("a new key is found for tokens that name none, too", async () => {
    const none = { kid: null };
    const callers = callersOf();
    await callers.find(await corp.issuer.sign({}, none));
    await corp.issuer.rotate();
    expect(await who(callers, await corp.issuer.sign({ sub: "bob" }, none))).toMatchObject({
      id: "corp:bob",
    });
    await corp.issuer.rotate();
    expect(await who(callers, await corp.issuer.sign({ sub: "eve" }, none))).toMatchObject({
      id: "corp:eve",
    });
  });

  test("a token that is being verified while the keys change is verified again", async () => {
    const callers = callersOf();
    await callers.find(await corp.issuer.sign());
    const token = await corp.issuer.sign({ sub: "bob" });
    const verify = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => verify.mockRestore());
    verify.mockImplementationOnce(async (...args) => {
      await corp.issuer.rotate("ES256", true);
      await callers.find(await corp.issuer.sign({ sub: "eve" }));
      return crypto.subtle.verify(...args);
    });
    expect(await who(callers, token)).toMatchObject({ id: "corp:bob" });
    expect(await who(callers, token)).toMatch("key that its issuer does not have");
  });

  test("tokens with invented keys don't make it ask again and again", async () => {
    const callers = callersOf("", silent, 60_000);
    await callers.find(await corp.issuer.sign());
    const { asked } = corp.issuer;
    const key = await generateKeyPair("ES256");
    for (let i = 0; i < 20; i++) {
      expect(await who(callers, await corp.issuer.sign({}, { kid: `x${i}` }))).toMatch(
        "invalid_token",
      );
      expect(await who(callers, await corp.issuer.sign({}, { kid: null, key }))).toMatch(
        "not right",
      );
    }
    expect(corp.issuer.asked).toBe(asked);
  });

  test("a wrong signature of a key that is known is no reason to ask for others", async () => {
    const callers = callersOf();
    await callers.find(await corp.issuer.sign());
    const { asked } = corp.issuer;
    const key = await generateKeyPair("ES256");
    expect(await who(callers, await corp.issuer.sign({}, { key }))).toMatch("not right");
    expect(corp.issuer.asked).toBe(asked);
  });

  test("away: known keys go on, tokens with others wait for the corp.issuer; one line, and it comes back", async () => {
    const log = { ...silent, warn: vi.fn(), info: vi.fn() };
    const callers = callersOf("refresh: 20ms", log);
    await callers.find(await corp.issuer.sign());
    await corp.issuer.stop();
    await vi.waitUntil(() => log.warn.mock.calls.length > 0);
    expect(await who(callers, await corp.issuer.sign({ sub: "bob" }))).toMatchObject({
      id: "corp:bob",
    });
    await corp.issuer.rotate();
    const fresh = await corp.issuer.sign({ sub: "eve" });
    expect(await who(callers, fresh)).toBe("unavailable: the bearer token can't be checked now");
    await corp.issuer.start();
    await vi.waitUntil(() => log.info.mock.calls.length > 0);
    expect(await who(callers, fresh)).toMatchObject({ id: "corp:eve" });
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(log.warn.mock.calls[0]?.[1]).toMatch("those that are known go on counting");
  });

  test("that are read again and are the same verify nothing again", async () => {
    const callers = callersOf();
    const token = await corp.issuer.sign();
    const caller = await callers.find(token);
    const { asked } = corp.issuer;
    await who(callers, await corp.issuer.sign({}, { kid: "x" }));
    expect(corp.issuer.asked).toBeGreaterThan(asked);
    expect(callers.find(token)).toEqual(caller);
  });

  test("away: callers don't wait for it one after the other; it is asked again after 5 seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const now = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    onTestFinished(() => now.mockRestore());
    const log = { ...silent, info: vi.fn() };
    corp.issuer.status = 500;
    const callers = callersOf(`refresh: 1h\njwks_url: ${corp.issuer.url}/keys`, log, 60_000);
    const token = await corp.issuer.sign();
    for (let i = 0; i < 10; i++) expect(await who(callers, token)).toMatch("unavailable");
    expect(corp.issuer.asked).toBe(1);
    corp.issuer.status = 200;
    vi.advanceTimersByTime(5000);
    await vi.waitFor(() => expect(log.info).toHaveBeenCalledTimes(1));
    expect(await who(callers, token)).toMatchObject({ id: "corp:alice" });
  });

  test.each([
    ["a key that is new", 200, 60_000],
    ["an issuer that was away", 500, 1000],
  ])(
    "who comes while they are read for another waits for them, too: %s",
    async (_, status, later) => {
      // Whole: a fraction's sum with `later` may be a bit less than that later.
      let time = Math.floor(performance.now());
      const now = vi.spyOn(performance, "now").mockImplementation(() => time);
      onTestFinished(() => now.mockRestore());
      corp.issuer.status = status;
      const callers = callersOf(`refresh: 1h\njwks_url: ${corp.issuer.url}/keys`, silent, 60_000);
      await who(callers, await corp.issuer.sign());
      const { asked } = corp.issuer;
      corp.issuer.status = 200;
      await corp.issuer.rotate();
      time += later;
      const tokens = [await corp.issuer.sign({ sub: "a" }), await corp.issuer.sign({ sub: "b" })];
      const said = await Promise.all(tokens.map((token) => who(callers, token)));
      expect(said).toMatchObject([{ id: "corp:a" }, { id: "corp:b" }]);
      expect(corp.issuer.asked).toBe(asked + 1);
    },
  );

  test("away: a token with another key can't be checked, however lately it was asked for them", async () => {
    const log = { ...silent, warn: vi.fn() };
    const callers = callersOf("refresh: 20ms", log, 60_000);
    await callers.find(await corp.issuer.sign());
    corp.issuer.status = 500;
    await vi.waitUntil(() => log.warn.mock.calls.length > 0);
    await corp.issuer.rotate();
    expect(await who(callers, await corp.issuer.sign())).toMatch("unavailable");
  });

  test("are read no more once it is closed, also where that comes while they are", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const fetched = vi.spyOn(globalThis, "fetch");
    onTestFinished(() => fetched.mockRestore());
    const callers = callersOf(`refresh: 1h\njwks_url: ${corp.issuer.url}/keys`);
    callers.start();
    callers.close();
    expect(await who(callers, await corp.issuer.sign())).toMatchObject({ id: "corp:alice" });
    vi.advanceTimersByTime(3_600_000);
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  test("away: of one that is closed the log says nothing", async () => {
    const log = { ...silent, warn: vi.fn() };
    corp.issuer.status = 500;
    const callers = callersOf("", log);
    callers.start();
    callers.close();
    expect(await who(callers, await corp.issuer.sign())).toMatch("unavailable");
    expect(log.warn).not.toHaveBeenCalled();
  });

  test("away: it is asked again also where that comes sooner than callers may ask", async () => {
    const log = { ...silent, warn: vi.fn(), info: vi.fn() };
    corp.issuer.status = 500;
    callersOf("refresh: 20ms", log, 10_000).start();
    await vi.waitUntil(() => log.warn.mock.calls.length > 0);
    corp.issuer.status = 200;
    await vi.waitUntil(() => log.info.mock.calls.length > 0);
  });

  test("away at start, also when it answers nonsense", async () => {
    const log = { ...silent, warn: vi.fn() };
    corp.issuer.status = 500;
    const callers = callersOf("refresh: 20ms", log);
    callers.start();
    const token = await corp.issuer.sign();
    expect(await who(callers, token)).toMatch("unavailable");
    corp.issuer.status = 200;
    corp.issuer.claimed = "https://elsewhere.example";
    expect(await who(callers, token)).toMatch("unavailable");
    corp.issuer.claimed = undefined;
    await vi.waitUntil(async () => typeof (await who(callers, token)) === "object");
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(log.warn.mock.calls[0]?.[1]).toMatch("its tokens are refused until they can");
  });

  test("away: whoever takes over after a reload is away from the start, and says it no second time", async () => {
    const log = { ...silent, warn: vi.fn(), info: vi.fn() };
    corp.issuer.status = 500;
    const before = callersOf("", log);
    const token = await corp.issuer.sign();
    expect(await who(before, token)).toMatch("unavailable");
    const callers = callersOf("", log);
    callers.takeOver(before);
    before.close();
    expect(callers.states()).toEqual([{ name: "corp", away: true }]);
    expect(await who(callers, token)).toMatch("unavailable");
    expect(log.warn).toHaveBeenCalledTimes(1);
    corp.issuer.status = 200;
    expect(await who(callers, token)).toMatchObject({ id: "corp:alice" });
    expect(log.info).toHaveBeenCalledTimes(1);
  });

  test("away: a discovery document that does not say where they are is told", async () => {
    const log = { ...silent, warn: vi.fn() };
    corp.issuer.tellsKeys = false;
    const callers = callersOf("", log);
    expect(await who(callers, await corp.issuer.sign())).toMatch("unavailable");
    expect(log.warn.mock.calls).toEqual([
      [
        { issuer: "corp", error: expect.stringContaining("has no jwks_uri") },
        expect.stringContaining("its tokens are refused until they can"),
      ],
    ]);
    expect(corp.issuer.asked).toBe(0);
  });

  test("away: the log says why also where each of its addresses refuses", async () => {
    const log = { ...silent, warn: vi.fn() };
    const refused = ["::1", "127.0.0.1"].map((it) => new Error(`connect ECONNREFUSED ${it}:443`));
    // As Node says it of a name with several addresses, which not every machine has.
    const cause = new AggregateError(refused);
    const fetch = vi
      .spyOn(globalThis, "fetch")
      .mockRejectedValue(new TypeError("fetch failed", { cause }));
    onTestFinished(() => fetch.mockRestore());
    expect(await who(callersOf("", log), await corp.issuer.sign())).toMatch("unavailable");
    const error = "fetch failed: connect ECONNREFUSED ::1:443";
    expect(log.warn).toHaveBeenCalledWith({ issuer: "corp", error }, expect.any(String));
  });

  test.each(["/.well-known/openid-configuration", "/keys"])(
    "are not read where %s leads elsewhere",
    async (path) => {
      const log = { ...silent, warn: vi.fn() };
      corp.issuer.moved = `/realm${path}`;
      expect(await who(callersOf("", log), await corp.issuer.sign())).toMatch("unavailable");
      const error = expect.stringContaining("redirect");
      expect(log.warn).toHaveBeenCalledWith({ issuer: "corp", error }, expect.any(String));
      corp.issuer.moved = undefined;
      expect(await who(callersOf(), await corp.issuer.sign())).toMatchObject({ id: "corp:alice" });
    },
  );

  test("documents of more than 1 MiB are none, the log says so", async () => {
    const log = { ...silent, warn: vi.fn() };
    corp.issuer.blanks = 1024 * 1024;
    expect(await who(callersOf("", log), await corp.issuer.sign())).toMatch("unavailable");
    const document = `${corp.issuer.url}/.well-known/openid-configuration`;
    const error = `${document} answers with more than 1 MiB`;
    expect(log.warn).toHaveBeenCalledWith({ issuer: "corp", error }, expect.any(String));
    corp.issuer.blanks -= 10_000;
    expect(await who(callersOf(), await corp.issuer.sign())).toMatchObject({ id: "corp:alice" });
  });

  test("are asked for with the token of a file, as it is then", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "lintel-oidc-")), "token");
    writeFileSync(file, "first\n");
    corp.issuer.wants = "first";
    const log = { ...silent, warn: vi.fn() };
    const callers = callersOf(`token_file: ${file}`, log);
    expect(await who(callers, await corp.issuer.sign())).toMatchObject({ id: "corp:alice" });
    writeFileSync(file, "second");
    corp.issuer.wants = "second";
    await corp.issuer.rotate();
    expect(await who(callers, await corp.issuer.sign({ sub: "bob" }))).toMatchObject({
      id: "corp:bob",
    });
    expect(log.warn).not.toHaveBeenCalled();
    // What is no token, and may be something else that is secret, is in no words.
    writeFileSync(file, "not a token");
    await corp.issuer.rotate();
    expect(await who(callers, await corp.issuer.sign())).toBe(
      "unavailable: the bearer token can't be checked now",
    );
    expect(log.warn.mock.calls).toEqual([
      [{ issuer: "corp", error: `${file} holds no token` }, expect.any(String)],
    ]);
  });

  test("are found also where the issuer's name ends with a slash", async () => {
    corp.issuer.url += "/";
    expect(await who(callersOf(), await corp.issuer.sign())).toMatchObject({ id: "corp:alice" });
  });

  test("at an address of their own there is no discovery", async () => {
    corp.issuer.claimed = "https://elsewhere.example";
    const callers = callersOf(`jwks_url: ${corp.issuer.url}/keys`);
    expect(await who(callers, await corp.issuer.sign())).toMatchObject({ id: "corp:alice" });
  });
});
