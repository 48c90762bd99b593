/** Answers as the console shows them, in a real browser before a real gateway. */
import { afterAll, describe, expect, it } from "vitest";
import { webConsole } from "../../src/doors/console.js";
import { serve } from "../doors/serve.js";
import { hangsAfter, piece, says, scripted } from "../support/scripted.js";
import { button, closeBrowser, noBrowser, opened, say, why } from "./browser.js";

const shown = { moreDoors: [webConsole(["calls"])] };

/** A page that shows this answer. */
async function answered(...pieces: string[]) {
  const { url } = await serve(scripted({ chat: says(...pieces) }), shown);
  const watched = await opened(url);
  await say(watched.page, "Go on");
  await button(watched.page, "Again").waitFor();
  return { ...watched, url, answer: watched.page.locator(".markdown") };
}

const all = `# Title

A *word*, **another**, ~~gone~~, ~5 of them, \`a  b\` &amp; &lt;tag&gt;.
A second line.

- [x] done
- [ ] open
  1. one
  2. two

| Left | Right |
| :--- | ----: |
| a<br>b | 2 |

> quoted

---

\`\`\`ts title=x
const a = "<b>";
\`\`\`
`;

describe.skipIf(noBrowser)(`answers in the console${why}`, () => {
  afterAll(closeBrowser);

  it("are shown as GitHub shows Markdown", async () => {
    const { page, answer, faults } = await answered(all);
    expect(await answer.locator("h3").innerText()).toBe("Title");
    expect(await answer.locator("> p").first().innerText()).toBe(
      "A word, another, gone, ~5 of them, a  b & <tag>.\nA second line.",
    );
    const kinds = ["em", "strong", "del", "blockquote", "hr"];
    const counts = kinds.map((kind) => answer.locator(kind).count());
    expect(await Promise.all(counts)).toEqual([1, 1, 1, 1, 1]);
    const boxes = answer.getByRole("checkbox", { name: "Done" });
    expect([await boxes.first().isChecked(), await boxes.last().isChecked()]).toEqual([
      ...[true, false],
    ]);
    expect(await answer.locator("ul > li > ol > li").allInnerTexts()).toEqual(["one", "two"]);
    expect(await answer.locator("td").allInnerTexts()).toEqual(["a\nb", "2"]);
    const last = "document.querySelector('.markdown td:last-child')";
    expect(await page.evaluate(`getComputedStyle(${last}).textAlign`)).toBe("right");
    expect(await answer.locator("figcaption span").innerText()).toBe("ts");
    expect(await answer.locator("pre").innerText()).toBe('const a = "<b>";');
    expect(faults).toEqual([]);
  });

  it("give code to the clipboard", async () => {
    const { page, url } = await answered(all);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
    await page.locator("figure").getByRole("button", { name: "Copy" }).click();
    await page.locator("figure").getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe('const a = "<b>";');
  });

  it("lead only where nothing is run, apart, and load no pictures", async () => {
    const { answer, origins, url } = await answered(
      "[safe](https://example.com/?a=1&amp;b=2) [mail](mailto:a@example.com) https://example.com/b\n\n",
      "[bad](javascript:alert(1)) [odd](java&#115;cript:alert(1)) [file](file:///etc/passwd) [near](/admin)\n\n",
      "![seen](https://example.com/a.png) ![own](data:image/png;base64,iVBORw0KGgo=) ![svg](data:image/svg+xml;base64,PHN2Zy8+)",
    );
    const links = await answer
      .locator("a")
      .evaluateAll((anchors) =>
        anchors.map((one) => [
          one.textContent,
          ...["href", "target", "rel"].map((name) => one.getAttribute(name)),
        ]),
      );
    const apart = ["_blank", "noopener noreferrer"];
    expect(links).toEqual([
      ["safe", "https://example.com/?a=1&b=2", ...apart],
      ["mail", "mailto:a@example.com", ...apart],
      ["https://example.com/b", "https://example.com/b", ...apart],
      ["Picture: seen", "https://example.com/a.png", ...apart],
    ]);
    expect(await answer.innerText()).toContain("[bad](javascript:alert(1))");
    expect(
      await answer.locator("img").evaluateAll((some) => some.map((one) => one.getAttribute("alt"))),
    ).toEqual(["own"]);
    expect([...origins]).toEqual([url]);
  });

  it("keep what was shown while more comes in, however much there is", async () => {
    const row = (n: number) =>
      `Part **${n}** of it, with \`code\`.\n\n| a | b |\n|---|---|\n| ${n} | x |\n\n`;
    const pieces = Array.from({ length: 4000 }, (_, n) => row(n));
    const { handle, aborted } = hangsAfter(...pieces);
    const { url } = await serve(scripted({ chat: handle }), shown);
    const { page, faults } = await opened(url);
    await say(page, "Go on");
    const first = page.locator(".markdown > p").first();
    await first.evaluate((node) => node.setAttribute("data-kept", "yes"));
    await page.getByText("Part 3999 of it").waitFor();
    // The end of it is in sight.
    const below = "document.documentElement.scrollHeight - innerHeight - scrollY";
    await expect.poll(() => page.evaluate<number>(below)).toBeLessThan(2);
    expect(await first.getAttribute("data-kept")).toBe("yes");
    await button(page, "Stop").click();
    await aborted;
    await button(page, "Again").waitFor();
    expect(await page.locator(".markdown table").count()).toBe(4000);
    expect(await first.getAttribute("data-kept")).toBe("yes");
    expect(faults).toEqual([]);
  });

  it("leave who reads on where they are", async () => {
    let go = () => {};
    const read = new Promise<void>((resolve) => {
      go = resolve;
    });
    const line = "A line of it.\n\n";
    const backend = scripted({
      async *chat() {
        yield [piece(line.repeat(100))];
        await read;
        yield [piece(line.repeat(100)), piece("", "stop", [1, 2])];
      },
    });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    await say(page, "Go on");
    await expect.poll(() => page.evaluate<number>("scrollY")).toBeGreaterThan(1000);
    await page.mouse.wheel(0, -500);
    await expect
      .poll(() =>
        page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY > 300"),
      )
      .toBe(true);
    const at = await page.evaluate("scrollY");
    go();
    await button(page, "Again").waitFor();
    expect(await page.evaluate("scrollY")).toBe(at);
  });

  it("are shown as they are where they stand within themselves without end", async () => {
    const { answer, faults } = await answered(`${"> ".repeat(200)}deep\n\n${"**_".repeat(300)}x`);
    expect(await answer.innerText()).toContain("deep");
    expect(faults).toEqual([]);
  });
});
