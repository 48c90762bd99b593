/** The console for who sees little, or uses no mouse, in a real browser before a real gateway. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { webConsole } from "../../src/doors/console.js";
import { administered, as, secret } from "../admin/gateway.js";
import { serve } from "../doors/serve.js";
import { hangsAfter, paints, png, scripted, thinks, thought } from "../support/scripted.js";
import { button, closeBrowser, labelled, noBrowser, opened, say, why } from "./browser.js";

const shown = { moreDoors: [webConsole(["calls"])] };
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong, in each scheme of colours and as narrow as at 400%. */
async function faultsOf(page: Page): Promise<string[]> {
  const found: string[] = [];
  // As a debugger does: the page's policy lets no script in.
  await page.evaluate(axe);
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1280, 320]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: width === 320 ? 256 : 800 });
      const { violations } = await page.evaluate<AxeResults>("axe.run()");
      for (const { id, nodes } of violations) {
        found.push(`${colorScheme}, ${width}: ${id}: ${nodes.map(({ html }) => html).join(" ")}`);
      }
      const across = await page.evaluate<number>("document.documentElement.scrollWidth");
      if (across > width) found.push(`${colorScheme}, ${width}: ${across} pixels across`);
    }
  }
  return found;
}

const answer = `# Title

Some **words**, \`code\` and a [link](https://example.com).

- [x] done

| a | b |
|---|---|
| 1 | ${"wide ".repeat(60)} |

> quoted

\`\`\`js
${"let a = 1; ".repeat(40)}
\`\`\`
`;

describe.skipIf(noBrowser)(`the console${why}, for everybody`, () => {
  afterAll(closeBrowser);

  it("has nothing that axe finds in conversations", async () => {
    const { url } = await serve(scripted({ chat: thinks([thought("Hm.")], answer) }), shown);
    const { page } = await opened(url);
    await labelled(page, "Model").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    const buffer = png(5);
    const file = { name: "a.png", mimeType: "image/png", buffer };
    await page.locator("input[type=file]").setInputFiles(file);
    await button(page, "Take a.png away").waitFor();
    await say(page, "Go on");
    await button(page, "Again").waitFor();
    await page.locator("input[type=file]").setInputFiles(file);
    await button(page, "Take a.png away").waitFor();
    await page.getByText("Conversations (1)").click();
    await page.getByText("Thoughts").click();
    expect(await faultsOf(page)).toEqual([]);
  });

  it("has nothing that axe finds in pictures, models and accounts", async () => {
    const { url } = await serve(scripted({ streamTextToImage: paints(2) }), shown);
    const { page } = await opened(url, "#images");
    await labelled(page, "Prompt").fill("a cat");
    await button(page, "Draw").click();
    await page.locator(".pictures figure button").first().waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.goto(`${url}/#models`);
    await button(page, "chat-1").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.goto(`${url}/#account`);
    await page.getByText("Caller").waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });

  it("has nothing that axe finds in administration, and where it asks for a token", async () => {
    const { url, tokens } = await administered();
    await tokens.createToken({ name: "alice" }, as());
    const { page } = await opened(url, "#chat");
    await labelled(page, "Token").waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.goto(`${url}/#administration`);
    await labelled(page, "Token").fill(secret);
    await button(page, "Use it").click();
    await page.getByText("alice").first().waitFor();
    await page.getByText("New token").click();
    expect(await faultsOf(page)).toEqual([]);
  });

  it("says that an answer begins and ends, not each piece of it", async () => {
    const { handle } = hangsAfter("Once ", "upon ", "a time");
    const { url } = await serve(scripted({ chat: handle }), shown);
    const { page } = await opened(url);
    await say(page, "Tell me");
    await page.getByText("a time").waitFor();
    const status = page.getByRole("status");
    expect(await status.innerText()).toBe("The model answers.");
    expect(await page.locator("article [aria-live], .turns[aria-live]").count()).toBe(0);
    await button(page, "Stop").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => status.innerText()).toBe("The model answered: Once upon a time");
    // Who goes on needs no mouse.
    await expect
      .poll(() => page.evaluate("document.activeElement.getAttribute('aria-label')"))
      .toBe("Message");
  });
});
