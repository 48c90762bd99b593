/** People who sign in to the console: a real browser, a real gateway, a real identity provider. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { adminLines, secret } from "../admin/gateway.js";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { gateway } from "../support/gateway.js";
import { button, closeBrowser, labelled, noBrowser, opened, why } from "./browser.js";
import { clientSecret, resource, signInAs, startProvider } from "./provider.js";
import { alert, change, chats, configured, kept, signedInto, stored } from "./signed-in.js";

describe.skipIf(noBrowser)(`people sign in to the console${why}`, () => {
  afterAll(closeBrowser);

  it("at their provider, and call as who they are there until they sign out", async () => {
    const { page, url, identity, faults, origins } = await signedInto(undefined, "#account");
    await page.getByText("This gateway wants you to sign in").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await signInAs(page, "alice");
    await page.getByText("corp:alice").waitFor();
    // Back where they were, and the code is not in the address.
    expect(page.url()).toBe(`${url}/#account`);
    await page.getByRole("link", { name: "chat" }).click();
    await chats(page);
    await page.reload();
    await chats(page);
    expect(await stored(page, "localStorage")).not.toMatch(/eyJ/);
    expect(await stored(page, "sessionStorage")).toMatch(/eyJ/);
    // The page speaks to its gateway alone.
    expect(faults).toEqual([]);
    // (The provider's own pages want fonts of the internet.)
    const seen = [...origins].filter((origin) => origin.startsWith("http:"));
    expect(seen.sort()).toEqual([url, identity.issuer].sort());
    const asked = identity.asked.map(({ path }) => new URL(path, identity.issuer));
    const { searchParams } = asked.find(({ pathname }) => pathname === "/auth") as URL;
    expect(Object.fromEntries(searchParams)).toMatchObject({
      ...{ response_type: "code", client_id: "console", redirect_uri: `${url}/` },
      ...{ code_challenge_method: "S256", scope: "openid offline_access", resource },
    });
    // Another tab is somebody else.
    const other = await page.context().newPage();
    await other.goto(`${url}/`);
    await button(other, "Sign in with Corp").waitFor();
    await page.getByRole("link", { name: "account" }).click();
    expect(await stored(page, "sessionStorage")).toContain("Hello");
    await button(page, "Sign out").click();
    await page.getByRole("button", { name: "Yes, sign me out" }).click();
    await button(page, "Sign in with Corp").waitFor();
    // What was said goes, too.
    expect(await stored(page, "sessionStorage")).not.toMatch(/eyJ|Hello/);
    expect(identity.asked.map(({ path }) => path)).toContain("/token/revocation");
    expect(page.url()).toMatch(new RegExp(`^${url}/`));
    // Signed out there, too: it asks who they are again.
    await button(page, "Sign in with Corp").click();
    await page.locator("input[name=login]").waitFor();
  });

  it("by a client with a secret, which no answer has", async () => {
    const more = `client_id: portal, client_secret: "${clientSecret}", resource: "${resource}"`;
    const { page, identity, bodies } = await signedInto(more, "#account");
    await signInAs(page, "alice");
    await page.getByText("corp:alice").waitFor();
    const { authorization = "" } = identity.asked.find(({ path }) => path === "/token") ?? {};
    const [, both = ""] = authorization.split(" ");
    expect(Buffer.from(both, "base64").toString()).toBe(`portal:${clientSecret}`);
    expect(bodies.length).toBeGreaterThan(3);
    expect(bodies.join()).not.toContain(clientSecret);
    expect(await stored(page, "sessionStorage")).not.toContain(clientSecret);
  });

  it("by their id token, where that is what opens the gateway", async () => {
    const { page } = await signedInto("client_id: console, token: id_token", "#account");
    await signInAs(page, "bob");
    await page.getByText("corp:bob").waitFor();
  });

  it("and are renewed before their token ends, with a refresh token that counts once", async () => {
    const { page, identity } = await signedInto();
    await signInAs(page, "alice");
    await chats(page);
    const tokens = () => identity.asked.filter(({ path }) => path === "/token").length;
    expect(tokens()).toBe(1);
    const before = await stored(page, "sessionStorage");
    await change(page, { endsAt: 0 });
    await chats(page);
    expect(tokens()).toBe(2);
    const refreshed = /refresh_token\\":\\"([^"\\]+)/;
    const [, first] = refreshed.exec(String(before)) ?? [];
    const [, second] = refreshed.exec(String(await stored(page, "sessionStorage"))) ?? [];
    expect(first).toBeTruthy();
    expect(second).toBeTruthy();
    expect(second).not.toBe(first);
    // What counts no more ends the session.
    await change(page, { endsAt: 0, refresh_token: "none" });
    await labelled(page, "Message").fill("Hello");
    await button(page, "Send").click();
    await button(page, "Sign in with Corp").waitFor();
    expect(await alert(page).textContent()).toMatch(
      /^your sign-in has ended: Corp refuses: invalid_grant.*: sign in again$/,
    );
    expect(await stored(page, "sessionStorage")).not.toMatch(/eyJ/);
  });

  it("and are signed out where a renewal is somebody else's", async () => {
    const { page, said } = await signedInto();
    await signInAs(page, "alice");
    await chats(page);
    const { id_token: others = "" } = await kept(page);
    const [header, payload = "", signature] = others.split(".");
    const claims = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), sub: "bob" };
    const bobs = Buffer.from(JSON.stringify(claims)).toString("base64url");
    await change(page, { endsAt: 0, id_token: [header, bobs, signature].join(".") });
    await labelled(page, "Message").fill("Hello");
    await button(page, "Send").click();
    await button(page, "Sign in with Corp").waitFor();
    const words = "the id token is not of who signed in here: its sub does not fit";
    expect(await alert(page).textContent()).toContain(words);
    expect(await stored(page, "sessionStorage")).not.toMatch(/eyJ/);
    expect((await said("a sign-in failed")).fields).toMatchObject({ step: "renew", error: words });
  });

  it("and make tokens that stand for them, which administrators see", async () => {
    const identity = await startProvider();
    const server = await Upstream.start(echo);
    onTestFinished(() => server.close());
    const more = `client_id: console, resource: "${resource}"`;
    const text = configured(identity, server.url, more)
      .replace("console] }]", "console], own_tokens: { max: 1, max_ttl: 10d } }]")
      .concat(adminLines());
    const { url, chat } = await gateway(text);
    identity.pages.add(`${url}/`);
    const { page, faults } = await opened(url, "#account");
    await signInAs(page, "alice");
    await page.getByText("Each is you, with your limits, and ends within 10 days.").waitFor();
    await labelled(page, "What it is for").fill("laptop");
    await labelled(page, "Days until it ends").fill("2");
    await button(page, "Make it").click();
    const told = await page.locator(".secret code").innerText();
    expect((await chat("chat", "Hello", told)).status).toBe(200);
    const row = page.getByRole("table", { name: "Your tokens" }).getByRole("row").last();
    expect(await row.innerText()).toMatch(/^laptop\s*tok_/);
    // As many as there may be.
    await button(page, "Make it").waitFor({ state: "detached" });
    await button(page, "Done").click();
    await page.goto(`${url}/#administration`);
    await labelled(page, "Token").fill(secret);
    await button(page, "Use it").click();
    const seen = page.getByRole("row").filter({ hasText: "made by corp:alice" });
    await seen.getByRole("button", { name: "Revoke" }).waitFor();
    expect(await seen.getByRole("button", { name: "Rotate" }).count()).toBe(0);
    await page.getByRole("link", { name: "account" }).click();
    await row.getByRole("button", { name: "Revoke" }).click();
    await button(page, "Make it").waitFor();
    expect((await chat("chat", "Hello", told)).status).toBe(401);
    expect(faults).toEqual([]);
  });

  it("below a path", async () => {
    const { url, identity, page } = await signedInto();
    const proxy = createServer((request, response) => {
      const { method, headers, url: path = "" } = request;
      const asked = fetch(url + path.replace(/^\/ai/, ""), {
        ...(method === "POST" && { method, body: Readable.toWeb(request), duplex: "half" }),
        headers: Object.entries(headers).flatMap(([name, value]) =>
          /^(host|connection|content-length|transfer-encoding)$/.test(name)
            ? []
            : [[name, String(value)]],
        ),
      } as RequestInit);
      asked.then(async (answer) => {
        const type = answer.headers.get("content-type") ?? "text/plain";
        response.writeHead(answer.status, { "content-type": type });
        response.end(await answer.text());
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      proxy.close();
      proxy.closeAllConnections();
    });
    const below = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/ai/`;
    identity.pages.add(below);
    await page.goto(`${below}#account`);
    await signInAs(page, "alice");
    await page.getByText("corp:alice").waitFor();
    expect(page.url()).toBe(`${below}#account`);
  });

  describe("and are told why they are not signed in", () => {
    it("where they did not want to", async () => {
      const { page, identity } = await signedInto();
      await page.context().route(/^https:/, (route) => route.abort());
      await button(page, "Sign in with Corp").click();
      await page.getByRole("link", { name: "Cancel" }).click();
      await alert(page).waitFor();
      expect(await alert(page).textContent()).toMatch(
        /^You are not signed in: Corp refuses: access_denied/,
      );
      expect(identity.asked.map(({ path }) => path)).not.toContain("/token");
      await button(page, "Sign in with Corp").waitFor();
    });

    it("where the issuer's refusal is another's", async () => {
      const { page, url } = await signedInto();
      await page.route(/\/auth\?/, (route) => {
        const { searchParams } = new URL(route.request().url());
        const answer = { state: searchParams.get("state") ?? "", iss: "https://b.example" };
        const query = new URLSearchParams({ error: "access_denied", ...answer });
        return route.fulfill({ status: 303, headers: { location: `${url}/?${query}` } });
      });
      await button(page, "Sign in with Corp").click();
      await alert(page).waitFor();
      expect(await alert(page).textContent()).toBe(
        "You are not signed in: the answer is another issuer's: nothing was done with it",
      );
      expect(page.url()).toBe(`${url}/`);
    });

    it("where another page sends them with a code", async () => {
      const { page, url, identity } = await signedInto();
      await page.goto(`${url}/?code=stolen&state=other`);
      await alert(page).waitFor();
      expect(await alert(page).textContent()).toContain("was not begun in this tab");
      expect(page.url()).toBe(`${url}/`);
      expect(identity.asked.map(({ path }) => path)).not.toContain("/token");
    });

    it.each<[string, Record<string, string | undefined>, RegExp]>([
      ["the id token is of another sign-in", { nonce: "other" }, /its nonce does not fit/],
      ["the answer is another issuer's", { iss: "https://b.example" }, /is another issuer's/],
      ["the answer does not say whose it is", { iss: undefined }, /does not say whose it is/],
      ["somebody else began it", { verifier: "v".repeat(43) }, /Corp refuses: invalid_grant/],
      ["another page asks", { page: "https://b.example/" }, /page: must be of the page that asks/],
    ])("where %s", async (_what, changed, words) => {
      const { page } = await signedInto();
      await page.route("**/sign-in/finish", (route) => {
        const body = { ...route.request().postDataJSON(), ...changed };
        return route.continue({ postData: JSON.stringify(body) });
      });
      await signInAs(page, "alice");
      await alert(page).waitFor();
      expect(await alert(page).textContent()).toMatch(words);
      expect(await stored(page, "sessionStorage")).not.toMatch(/eyJ/);
    });

    it("where the token is meant for something else", async () => {
      const { page, identity } = await signedInto();
      identity.audience = "payroll";
      await signInAs(page, "alice");
      await alert(page).waitFor();
      expect(await alert(page).textContent()).toMatch(
        /^You are not signed in: the access token of the issuer is meant for another service/,
      );
    });

    it("where the issuer is away", async () => {
      const { page, identity } = await signedInto();
      identity.instead = (_, response) => !!response.writeHead(500).end();
      await button(page, "Sign in with Corp").click();
      await page.getByText("Corp can't be reached now").waitFor();
    });
  });

  it("but for pages in which nobody signs in, which have no button", async () => {
    const { page, url } = await signedInto();
    await button(page, "Sign in with Corp").waitFor();
    const plain = await gateway("auth: { mode: none }\nbackends: []\n");
    expect(await (await fetch(plain.url)).text()).toContain('data-sign-in="[]"');
    expect(await (await fetch(url)).text()).toContain('data-sign-in="[&#34;Corp&#34;]"');
  });
});
