/** Conversations that the console keeps, in a real browser before a real gateway. */
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { webConsole } from "../../src/doors/console.js";
import { serve } from "../doors/serve.js";
import { says, scripted } from "../support/scripted.js";
import { button, closeBrowser, labelled, noBrowser, opened, say, why } from "./browser.js";

const shown = { moreDoors: [webConsole(["calls"])] };

type Page = Awaited<ReturnType<typeof opened>>["page"];

/** Says something, and waits for the answer to it. */
async function talk(page: Page, text: string) {
  const before = await button(page, "Again").count();
  await say(page, text);
  await expect.poll(() => button(page, "Again").count()).toBe(before + 1);
  await button(page, "Send").waitFor();
}

/** What the browser keeps of conversations beyond the tab. */
const lasting = (page: Page) => page.evaluate("localStorage.getItem('lintel.conversations')");
/** Opens the list, and tells what is in it. */
const titles = (page: Page) => page.locator(".conversations li .link").allTextContents();

async function talking() {
  const backend = scripted({ chat: says("An **answer**.") });
  const { url } = await serve(backend, shown);
  return { backend, url, ...(await opened(url)) };
}

describe.skipIf(noBrowser)(`kept conversations of the console${why}`, () => {
  afterAll(closeBrowser);

  it("are there when the tab is loaded again, with the settings, and nowhere else", async () => {
    const { page, backend, faults } = await talking();
    await labelled(page, "System prompt").fill("Be brief.");
    await talk(page, "First?");
    await button(page, "New conversation").click();
    await talk(page, "Second?");
    await page.reload();
    await page.getByText("Second?").first().waitFor();
    expect(await labelled(page, "System prompt").inputValue()).toBe("Be brief.");
    expect(await titles(page)).toEqual(["Second?", "First?"]);
    expect(await page.locator("article strong").innerText()).toBe("answer");
    await page.getByText("Conversations (2)").click();
    await button(page, "First?").click();
    await talk(page, "More?");
    expect(backend.asked.at(-1)).toMatchObject({
      messages: ["Be brief.", "First?", "An **answer**.", "More?"].map((content) => ({ content })),
    });
    expect(await titles(page)).toEqual(["First?", "Second?"]);
    expect(await lasting(page)).toBeNull();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await labelled(other, "Model").waitFor();
    expect(await titles(other)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it("are the browser's where somebody says so, and gone where they say that", async () => {
    const { page } = await talking();
    await talk(page, "First?");
    await page.getByText("Conversations (1)").click();
    await page.getByLabel("Keep them in this browser").filter({ visible: true }).check();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await expect.poll(() => titles(other)).toEqual(["First?"]);
    // What either says is in the list of both.
    await talk(other, "Second?");
    await expect.poll(() => titles(page)).toEqual(["Second?", "First?"]);
    await button(page, "Forget “First?”").click();
    await expect.poll(() => titles(other)).toEqual(["Second?"]);
    await button(page, "Forget all").click();
    await expect.poll(() => titles(other)).toEqual([]);
    expect(await lasting(page)).toBeNull();
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain("First?");
  });

  it("are bounded: the oldest go, and one that is too large is not kept", async () => {
    const { page } = await talking();
    await labelled(page, "Model").waitFor();
    await page.evaluate(`sessionStorage.setItem("lintel.conversations", JSON.stringify(
      Array.from({ length: 60 }, (_, n) => ({
        id: "old" + n,
        at: 0,
        turns: [{ role: "user", text: "old " + n, images: [], attachments: [], thoughts: "" }],
      })),
    ))`);
    await talk(page, "New?");
    const all = await titles(page);
    expect([all.length, all[0], all.at(-1)]).toEqual([50, "New?", "old 48"]);
    const buffer = Buffer.alloc(3_500_000, "a");
    await page
      .locator("input[type=file]")
      .setInputFiles([{ name: "a.txt", mimeType: "text/plain", buffer }]);
    await button(page, "Take a.txt away").waitFor();
    await say(page, "Large?");
    await page.getByText("too large to be kept").waitFor();
    expect(await titles(page)).not.toContain("New?");
    expect((await titles(page)).length).toBe(49);
  });

  it("are saved as Markdown, and as the request", async () => {
    const { page } = await talking();
    await page.getByText("goes to chat-1").waitFor();
    await talk(page, "First?");
    const saved = async (name: string) => {
      const waiting = page.waitForEvent("download");
      await button(page, name).click();
      const download = await waiting;
      return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
    };
    expect(await saved("Save")).toEqual([
      "conversation.md",
      "## You\n\nFirst?\n\n## chat-1\n\nAn **answer**.\n",
    ]);
    const [name, request = ""] = await saved("Save request");
    expect(name).toBe("request.json");
    expect(JSON.parse(request)).toEqual({
      ...{ model: "chat-1", max_tokens: 2048, stream: true },
      messages: [{ role: "user", content: "First?" }],
    });
  });
});
