/** Tabs of the console that are copies of each other, in a real browser, and a provider that lets a refresh token count once. */
import type { Configuration } from "oidc-provider";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { button, closeBrowser, labelled, noBrowser, why } from "./browser.js";
import { signInAs } from "./provider.js";
import { alert, change, chats, kept, signedInto, stored } from "./signed-in.js";

/** One more tab, with what is kept in this one. */
async function copyOf(page: Page): Promise<Page> {
  const opening = page.waitForEvent("popup");
  await page.evaluate("void window.open(location.href)");
  const copy = await opening;
  copy.setDefaultTimeout(60_000);
  await labelled(copy, "Message").waitFor();
  return copy;
}

/** So that it is time to renew what still counts. */
const endsSoon = () => ({ endsAt: Date.now() + 50_000 });

async function copied(provider: Configuration = {}) {
  const it = await signedInto(undefined, "", provider);
  await signInAs(it.page, "alice");
  await chats(it.page);
  const copy = await copyOf(it.page);
  expect(await kept(copy)).toEqual(await kept(it.page));
  const renewals = () => it.identity.asked.filter(({ path }) => path === "/token").length - 1;
  return { ...it, copy, renewals };
}

describe.skipIf(noBrowser)(`tabs of the console that are copies${why}`, () => {
  afterAll(closeBrowser);

  it("renew a sign-in once: the other goes on until its token ends, and then signs in anew", async () => {
    const { page, copy, renewals } = await copied();
    const before = await kept(copy);
    for (const tab of [page, copy]) await change(tab, endsSoon());
    await chats(copy);
    expect(renewals()).toBe(1);
    await chats(page);
    await chats(page);
    expect(renewals()).toBe(1);
    expect((await kept(page)).token).toBe(before.token);
    expect((await kept(copy)).token).not.toBe(before.token);
    await change(page, { endsAt: 0 });
    await labelled(page, "Message").fill("Hello");
    await button(page, "Send").click();
    await button(page, "Sign in with Corp").waitFor();
    expect(await alert(page).textContent()).toBe(
      "your sign-in has ended: it went on in another tab, of which this one is a copy: sign in again",
    );
    expect(await stored(page, "sessionStorage")).not.toMatch(/eyJ/);
    expect(renewals()).toBe(1);
    // The issuer has seen no token twice, so that it goes on for who has it.
    await change(copy, { endsAt: 0 });
    await chats(copy);
    expect(renewals()).toBe(2);
  });

  it("that renew at the same time do so once", async () => {
    const { page, copy, renewals } = await copied();
    for (const tab of [page, copy]) await change(tab, endsSoon());
    await Promise.all([chats(page), chats(copy)]);
    expect(renewals()).toBe(1);
  });

  it("renew both where the issuer's refresh tokens stay the same", async () => {
    const { page, copy, renewals } = await copied({ rotateRefreshToken: false });
    await change(page, endsSoon());
    await chats(page);
    const { turn } = await kept(page);
    expect(turn).toBe((await kept(copy)).turn);
    expect(renewals()).toBe(1);
    await change(copy, { endsAt: 0 });
    await chats(copy);
    expect(renewals()).toBe(2);
  });

  it("have their turn again where the gateway was away", async () => {
    const { page, renewals } = await copied();
    await page.route("**/sign-in/renew", (route) => route.abort(), { times: 1 });
    await change(page, endsSoon());
    await chats(page);
    await chats(page);
    expect(renewals()).toBe(1);
  });

  it("keep no token for longer than the tab", async () => {
    const { page, renewals } = await copied();
    await change(page, endsSoon());
    await chats(page);
    expect(renewals()).toBe(1);
    const all = await page.evaluate(`new Promise((resolve) => {
      indexedDB.open("lintel").onsuccess = ({ target: { result } }) => {
        const store = result.transaction("turns").objectStore("turns");
        store.getAllKeys().onsuccess = ({ target }) => {
          store.getAll().onsuccess = (values) => resolve([target.result, values.target.result]);
        };
      };
    })`);
    expect(all).toEqual([[expect.stringMatching(/^\d{4}-[\d-]+T[\d:.]+Z \w+$/)], [true]]);
  });
});
