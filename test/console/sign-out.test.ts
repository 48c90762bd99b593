/** People who sign out of the console: a real browser, a real gateway, a real identity provider. */
import { afterAll, describe, expect, it } from "vitest";
import { button, closeBrowser, noBrowser, why } from "./browser.js";
import { type Identity, signInAs } from "./provider.js";
import { alert, change, kept, leave, signedInto, stored } from "./signed-in.js";

/** Answers one path of the issuer. */
const instead = (identity: Identity, path: string, status: number) => {
  identity.instead = ({ url }, response) => url === path && !!response.writeHead(status).end();
};

describe.skipIf(noBrowser)(`people sign out of the console${why}`, () => {
  afterAll(closeBrowser);

  it("are told what their issuer did not do, once they are back from it", async () => {
    const { page, identity, said } = await signedInto(undefined, "#account");
    await signInAs(page, "alice");
    await page.getByText("corp:alice").waitFor();
    instead(identity, "/token/revocation", 503);
    await leave(page);
    const words = "the refresh token may still count: Corp answers with status 503";
    await page.getByText(`You are signed out here, but ${words}`).waitFor();
    expect((await said("a sign-in failed")).fields).toMatchObject({ step: "end", error: words });
    expect(await stored(page, "sessionStorage")).not.toMatch(/eyJ/);
    // Signed out there all the same.
    expect(identity.asked.some(({ path }) => path.startsWith("/session/end?"))).toBe(true);
    await page.reload();
    await button(page, "Sign in with Corp").waitFor();
    expect(await page.getByText("You are signed out here").count()).toBe(0);
    await button(page, "Sign in with Corp").click();
    await page.locator("input[name=login]").waitFor();
  });

  it("have the refresh token ended that comes while they leave, and are signed in by it no more", async () => {
    const { page, identity } = await signedInto(undefined, "#account");
    await signInAs(page, "alice");
    await page.getByText("corp:alice").waitFor();
    const { refresh_token: first } = await kept(page);
    let held = () => {};
    const arrived = new Promise<void>((resolve) => {
      void page.route("**/sign-in/renew", async (route) => {
        const response = await route.fetch();
        const leaving = new Promise<void>((go) => {
          held = go;
        });
        resolve();
        await leaving;
        await route.fulfill({ response });
      });
    });
    await change(page, { endsAt: 0 });
    // The renewal begins with what is asked next, which is the account.
    await page.getByRole("link", { name: "models" }).click();
    await page.getByRole("link", { name: "account" }).click();
    await arrived;
    await button(page, "Sign out").click();
    await expect.poll(() => stored(page, "sessionStorage")).not.toMatch(/eyJ/);
    const [leaving] = await Promise.all([page.waitForRequest("**/sign-in/end"), held()]);
    const { refresh_token: ended } = leaving.postDataJSON();
    expect(ended).toBeTruthy();
    expect(ended).not.toBe(first);
    await page.getByRole("button", { name: "Yes, sign me out" }).click();
    await button(page, "Sign in with Corp").waitFor();
    expect(await stored(page, "sessionStorage")).not.toMatch(/eyJ/);
    const tokens = identity.provider.RefreshToken;
    expect(await tokens.find(ended)).toBeUndefined();
  });

  it("are signed out here also where the issuer is away", async () => {
    const { page, identity } = await signedInto(undefined, "#account");
    await signInAs(page, "alice");
    await page.getByText("corp:alice").waitFor();
    await page.route("**/sign-in/end", (route) => route.abort());
    await button(page, "Sign out").click();
    await button(page, "Sign in with Corp").waitFor();
    expect(await alert(page).textContent()).toBe(
      "You are signed out here, and may be signed in there: the gateway does not answer",
    );
    expect(await stored(page, "sessionStorage")).not.toMatch(/eyJ/);
    expect(identity.asked.map(({ path }) => path)).not.toContain("/token/revocation");
  });
});
