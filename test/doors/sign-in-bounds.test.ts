/** What signing in waits for, and how often who may ask. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { scriptedIssuer, signInsOf } from "./sign-in-gateway.js";

describe("an issuer that never answers is waited for 5 seconds, and told of", () => {
  async function waited() {
    const scripted = await scriptedIssuer();
    const it = await signInsOf(scripted.issuer.url);
    // The keys are read ahead of everything.
    await expect.poll(() => scripted.issuer.asked).toBe(1);
    const patience = new AbortController();
    const spied = vi.spyOn(AbortSignal, "timeout").mockReturnValue(patience.signal);
    onTestFinished(() => spied.mockRestore());
    const tooLate = () => {
      expect(spied).toHaveBeenCalledWith(5000);
      patience.abort(new DOMException("that took too long", "TimeoutError"));
    };
    return { ...it, ...scripted, tooLate };
  }
  const words = "Corp does not answer";

  test("to say what it is", async () => {
    const it = await waited();
    const held = it.issuer.held();
    const begun = it.refused("begin", { name: "Corp", page: it.page });
    await held;
    it.tooLate();
    expect(await begun).toEqual([503, "unavailable", words]);
    const { level, fields } = await it.said("a sign-in failed");
    expect(level).toBe("warn");
    expect(fields).toMatchObject({ step: "begin", error: words, cause: "that took too long" });
  });

  const finish = { code: "c", verifier: "v", nonce: "n" };
  const renew = { refresh_token: "refresh-0123456789", id_token: "e30.e30." };
  test.each([
    ["finish", finish],
    ["renew", renew],
  ])("for tokens: %s", async (step, asked) => {
    const it = await waited();
    const held = new Promise<void>((resolve) => {
      it.token.held = resolve;
    });
    const answered = it.refused(step, { name: "Corp", page: it.page, ...asked });
    await held;
    it.tooLate();
    expect(await answered).toEqual([503, "unavailable", words]);
    expect((await it.said("a sign-in failed")).fields).toMatchObject({ step, error: words });
  });

  test("to end a refresh token: who leaves is sent on all the same", async () => {
    const it = await waited();
    const held = new Promise<void>((resolve) => {
      it.revoke.held = resolve;
    });
    const { refresh_token } = renew;
    const left = it.post("end", { name: "Corp", page: it.page, refresh_token });
    await held;
    it.tooLate();
    const { status, json } = await left;
    const problem = `the refresh token may still count: ${words}`;
    expect([status, json]).toEqual([200, { url: expect.stringContaining("/end?"), problem }]);
  });
});

describe("120 a minute of one address, renewals among them", () => {
  test.each([
    ["of a proxy that is not trusted that is everybody's", "", 429],
    ["of a proxy that is trusted it is each one's own", "trust_proxy: [127.0.0.1]\n", 400],
  ])("%s", async (_what, trusted, others) => {
    const { issuer, token } = await scriptedIssuer();
    Object.assign(token, { status: 400, body: { error: "invalid_grant" } });
    const it = await signInsOf(issuer.url, "", trusted);
    const asked = { name: "Corp", page: it.page, refresh_token: "r", id_token: "e30.e30." };
    const renewed = async (from: string) =>
      (await it.post("renew", asked, { "x-forwarded-for": from })).status;
    for (let i = 0; i < 120; i++) expect(await renewed("192.0.2.1")).toBe(400);
    expect(await renewed("192.0.2.1")).toBe(429);
    expect(await renewed("192.0.2.2")).toBe(others);
  });
});
