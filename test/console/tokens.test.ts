/** Tokens in the console: who calls, what is left, and administration. */
import { afterAll, describe, expect, it } from "vitest";
import { administered, adminLines, as, secret } from "../admin/gateway.js";
import { button, closeBrowser, labelled, noBrowser, opened, why } from "./browser.js";

type Page = Awaited<ReturnType<typeof opened>>["page"];

/** Says a token where the page asks for one. */
async function use(page: Page, token: string, keep = false) {
  await labelled(page, "Token").fill(token);
  if (keep) await labelled(page, "Keep it in this browser").check();
  await button(page, "Use it").click();
}

const limits = "limits: { caller: { requests_per_minute: 60 } }";

describe.skipIf(noBrowser)(`tokens in the console${why}`, () => {
  afterAll(closeBrowser);

  it("are asked for where the gateway knows those that call, and kept as somebody says", async () => {
    const { url, tokens } = await administered(adminLines(limits));
    const made = await tokens.createToken({ name: "alice", team: "red" }, as());
    const { page, faults } = await opened(url);
    await page.getByText("This gateway wants a token that it knows.").waitFor();
    await use(page, "lt_nobody");
    await page.getByText("the bearer token is not known").waitFor();
    await use(page, made.secret);
    await labelled(page, "Message").fill("Hello");
    await button(page, "Send").click();
    await page.getByText(/\d tokens/).waitFor();
    await page.getByRole("link", { name: "account" }).click();
    await page.getByText("59 of 60").waitFor();
    expect(await page.locator("dl").innerText()).toMatch(/alice[\s\S]*red[\s\S]*\*/);
    // In this tab alone: another one is asked again.
    await page.reload();
    await page.getByText("59 of 60").waitFor();
    const other = await page.context().newPage();
    await other.goto(url);
    await other.getByText("This gateway wants a token that it knows.").waitFor();
    await use(other, made.secret, true);
    await labelled(other, "Message").waitFor();
    const third = await page.context().newPage();
    await third.goto(url);
    await labelled(third, "Message").waitFor();
    expect(faults).toEqual([]);
  });

  it("are made, listed, made anew and revoked by an administrator", async () => {
    const { url, chat, tokens } = await administered();
    const { page, faults, origins } = await opened(url, "#administration");
    await use(page, "lt_nobody");
    await page.getByText("That token is no administrator's.").waitFor();
    await use(page, secret);
    await page.getByText("New token").click();
    await labelled(page, "Name").fill("alice");
    await labelled(page, "Team").fill("red");
    await labelled(page, "Models").fill("chat, image-*");
    await labelled(page, "Days until it ends").fill("30");
    await labelled(page, "Requests per minute").fill("30");
    await labelled(page, "Budget").fill("2.5");
    await button(page, "Make it").click();
    const told = page.locator(".secret code");
    const first = await told.innerText();
    const row = page.getByRole("row").filter({ hasText: "alice" });
    expect(await row.innerText()).toMatch(
      /red\s+chat, image-\*\s+requests per minute: 30; budget: 2.5 per month\s[\s\S]*active/,
    );
    const { token } = await tokens.getToken({ token: "alice" }, as());
    const days = Number(token?.expireTime?.seconds) - Number(token?.createTime?.seconds);
    expect(Math.round(days / 86_400)).toBe(30);
    expect((await chat("chat", "Hello", first)).status).toBe(200);
    await button(page, "Rotate").click();
    await expect.poll(() => told.innerText()).not.toBe(first);
    const second = await told.innerText();
    expect((await chat("chat", "Hello", second)).status).toBe(200);
    await button(page, "Done").click();
    expect(await told.count()).toBe(0);
    await button(page, "Revoke").click();
    await row.waitFor({ state: "detached" });
    expect((await chat("chat", "Hello", second)).status).toBe(401);
    await labelled(page, "Those that were revoked, too").check();
    await row.getByText("revoked").waitFor();
    expect({ faults, origins: [...origins] }).toEqual({ faults: [], origins: [url] });
  });

  it("open a look at what the gateway does, which goes on", async () => {
    const { url, chat, tokens } = await administered(
      adminLines(`limits: { caller: { budget: { amount: 12, period: month } } }
prices: [{ model: chat, input: 1000000 }]
`),
    );
    const { secret: token } = await tokens.createToken({ name: "alice" }, as());
    const { page, faults } = await opened(url, "#administration");
    await use(page, secret);
    const row = page.getByRole("table", { name: "Targets" }).getByRole("row").last();
    const cells = () => row.getByRole("cell").allInnerTexts();
    await row.waitFor();
    expect((await cells()).slice(0, 6)).toEqual(["chat\nserver", "in", "0", "0", "0", "0"]);
    await (await chat("chat", "Hello", token)).text();
    await expect.poll(async () => (await cells())[4]).toBe("1");
    const budget = page.getByRole("table", { name: "Budgets" }).getByRole("row").last();
    expect(await budget.getByRole("cell").allInnerTexts()).toEqual([
      ...["caller alice", expect.stringMatching(/^\s*3 of 12 per month$/)],
      expect.stringMatching(/\d/),
    ]);
    expect(faults).toEqual([]);
  });

  it("tell what they used, as somebody wants to see it", async () => {
    const { url, chat, tokens } = await administered();
    const { secret: token } = await tokens.createToken({ name: "alice" }, as());
    await (await chat("chat", "Hello", token)).text();
    const { page } = await opened(url, "#administration");
    await use(page, secret);
    const row = page
      .getByRole("table", { name: "Usage" })
      .getByRole("row")
      .filter({ has: page.getByRole("cell", { name: "chat", exact: true }) });
    await row.waitFor();
    expect(await row.getByRole("cell").nth(1).innerText()).toMatch(/\b1$/);
    await labelled(page, "and").selectOption("token");
    await row.getByText("alice").waitFor();
    await labelled(page, "By").selectOption("outcome");
    await page.getByRole("cell", { name: "ok", exact: true }).waitFor();
  });

  it("are administered at an address of its own, where there is nothing else", async () => {
    const { url, adminUrl } = await administered(adminLines("  listen: 127.0.0.1:0\n"));
    const there = await opened(adminUrl);
    await use(there.page, secret);
    await there.page.getByText("Nothing was used.").waitFor();
    expect(await there.page.getByRole("link").allInnerTexts()).toEqual(["Administration"]);
    expect(there.faults).toEqual([]);
    const here = await opened(url);
    expect(await here.page.getByRole("link").allInnerTexts()).not.toContain("Administration");
  });
});
