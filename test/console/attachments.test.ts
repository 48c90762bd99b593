/** What people give to models in the console, in a real browser before a real gateway. */
import { randomFillSync } from "node:crypto";
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import { afterAll, describe, expect, it } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { webConsole } from "../../src/doors/console.js";
import { serve } from "../doors/serve.js";
import { chatModel } from "../support/models.js";
import { png, says, scripted } from "../support/scripted.js";
import { button, closeBrowser, labelled, noBrowser, opened, say, why } from "./browser.js";

const shown = { moreDoors: [webConsole(["calls"])] };

const image = { name: "a.png", mimeType: "image/png", buffer: png(5) };
const sound = { name: "a.mp3", mimeType: "audio/mpeg", buffer: Buffer.from([0x49, 0xff]) };
const text = { name: "a.ts", mimeType: "", buffer: Buffer.from("let a: string;") };
const pdf = { name: "a.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4\xff") };
const other = { name: "a.zip", mimeType: "application/zip", buffer: Buffer.from([0x50, 0, 0xff]) };

const give = (page: Page, ...files: (typeof image)[]) =>
  page.locator("input[type=file]").setInputFiles(files);

/** Has a page hear of a file as if somebody pasted it, or dropped it. */
const hear = (page: Page, event: string, data: string, where: string) =>
  page.evaluate(`(() => {
    const data = new DataTransfer();
    data.items.add(new File(["of a file"], "${event}.txt", { type: "text/plain" }));
    const event = new ${event}("${data}", { bubbles: true, cancelable: true, ${where}: data });
    document.querySelector("textarea[aria-label=Message]").dispatchEvent(event);
    return event.defaultPrevented;
  })()`);

describe.skipIf(noBrowser)(`what is attached in the console${why}`, () => {
  afterAll(closeBrowser);

  it("goes to the model as the contract has it, once", async () => {
    const backend = scripted({ chat: says("Yes.") });
    const { url } = await serve(backend, shown);
    const { page, faults } = await opened(url);
    await give(page, image, sound, text, pdf, other);
    await button(page, "Take a.zip away").click();
    await say(page, "Well?");
    await button(page, "Again").waitFor();
    const [{ messages = [] } = {}] = backend.asked as LLMRequest[];
    expect(messages[0]?.parts).toMatchObject([
      { type: "text", text: "Well?" },
      { imageUrl: { url: `data:image/png;base64,${image.buffer.toString("base64")}` } },
      { inputAudio: { data: sound.buffer.toString("base64"), format: "mp3" } },
      { text: expect.stringContaining('<file name="a.ts">\nlet a: string;\n</file>') },
      {
        file: {
          filename: "a.pdf",
          fileData: `data:application/pdf;base64,${pdf.buffer.toString("base64")}`,
        },
      },
    ]);
    expect(await page.locator(".composer .attachment").count()).toBe(0);
    expect(await page.locator("article .attached").innerText()).toMatch(/a\.mp3\s*a\.ts\s*a\.pdf/);
    // It is there again where somebody takes back what they said.
    await button(page, "Edit").click();
    expect(await page.locator(".composer .attachment").count()).toBe(4);
    expect(faults).toEqual([]);
  });

  it("is what the model takes, or a hint says that it takes it not", async () => {
    const some = (id: string, supports: string[], inputModalities: string[] = []) =>
      chatModel(id, { supports, inputModalities });
    const models = [
      some("all", ["image_url", "file", "input_audio"]),
      some("plain", ["temperature"]),
      some("told", ["image_url", "input_audio"], ["text", "image"]),
    ];
    const { url } = await serve(scripted({ chat: says("Hi") }, models), shown);
    const { page } = await opened(url);
    await labelled(page, "Model").selectOption("all");
    await give(page, image, sound, text, pdf, other);
    const hints = page.locator(".composer .warnings li");
    await button(page, "Take a.zip away").waitFor();
    expect(await hints.allInnerTexts()).toEqual([]);
    await labelled(page, "Model").selectOption("plain");
    await expect
      .poll(() => hints.allInnerTexts())
      .toEqual([
        "plain takes no pictures: take a.png away",
        "plain takes no sounds: take a.mp3 away",
        "plain takes no files but PDFs and texts: take a.zip away",
      ]);
    const accepted = () => page.locator("input[type=file]").getAttribute("accept");
    expect(await accepted()).not.toMatch(/image|audio/);
    await labelled(page, "Model").selectOption("told");
    await expect.poll(() => hints.allInnerTexts()).toHaveLength(2);
    expect(await accepted()).toMatch(/^image\/png,[^A]*text\/\*,application\/pdf/);
    expect(await accepted()).not.toMatch(/audio/);
  });

  it("may be pasted and dropped", async () => {
    const { url } = await serve(scripted({ chat: says("Hi") }), shown);
    const { page } = await opened(url);
    await labelled(page, "Model").waitFor();
    expect(await hear(page, "ClipboardEvent", "paste", "clipboardData")).toBe(true);
    await button(page, "Take ClipboardEvent.txt away").waitFor();
    expect(await hear(page, "DragEvent", "dragover", "dataTransfer")).toBe(true);
    await page.locator(".dropping").waitFor();
    expect(await hear(page, "DragEvent", "drop", "dataTransfer")).toBe(true);
    await button(page, "Take DragEvent.txt away").waitFor();
    expect(await page.locator(".dropping").count()).toBe(0);
  });

  it("is a smaller picture where a call could not have all of it", async () => {
    const backend = scripted({ chat: says("Yes.") });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    // Of noise, which no form of it makes small.
    const noise = new PNG({ width: 2000, height: 1000 });
    randomFillSync(noise.data);
    const buffer = PNG.sync.write(noise);
    expect(buffer.length).toBeGreaterThan(1_048_576);
    await give(page, { ...image, buffer });
    await page.getByAltText("to be shown").waitFor();
    const sizes = await page
      .getByAltText("to be shown")
      .evaluate((one) => [Reflect.get(one, "naturalWidth"), Reflect.get(one, "naturalHeight")]);
    expect(sizes).toEqual([1568, 784]);
    await say(page, "Well?");
    await button(page, "Again").waitFor();
    const [{ messages = [] } = {}] = backend.asked as LLMRequest[];
    expect(messages[0]?.parts[1]?.imageUrl?.url).toMatch(/^data:image\/jpeg;base64,/);
  });
});
