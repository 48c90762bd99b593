/** Conversations in the console, in a real browser before a real gateway. */
import { create } from "@bufbuild/protobuf";
import { afterAll, describe, expect, it } from "vitest";
import {
  type LLMRequest,
  LogprobsSchema,
  TokenLogprobSchema,
  type TopLogprob,
  TopLogprobSchema,
} from "../../gen/lintel/v1/chat_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { deltaChoice } from "../../src/core/chat-messages.js";
import { drawnImage } from "../../src/core/drawn.js";
import { LintelError } from "../../src/core/errors.js";
import { webConsole } from "../../src/doors/console.js";
import { serve } from "../doors/serve.js";
import { chatModel } from "../support/models.js";
import {
  draws,
  hangsAfter,
  piece,
  png,
  says,
  scripted,
  thinks,
  thought,
} from "../support/scripted.js";
import { slowLink } from "../support/slow-link.js";
import { button, closeBrowser, labelled, noBrowser, opened, say, why } from "./browser.js";

const shown = { moreDoors: [webConsole(["calls"])] };

describe.skipIf(noBrowser)(`conversations in the console${why}`, () => {
  afterAll(closeBrowser);

  it("show what was thought, what was answered, and how it went", async () => {
    const chat = thinks([thought("Let me see.")], "Hello ", "**there**:\n```js\nlet a = 1;\n```\n");
    const backend = scripted({ chat });
    const { url } = await serve(backend, shown);
    const { page, faults, origins } = await opened(url);
    await say(page, "Hi");
    const answer = page.getByRole("article", { name: "Model" });
    await answer.getByText(/7 \+ 3 tokens/).waitFor();
    expect(await answer.locator(".markdown > p").innerText()).toBe("Hello there:");
    expect(await answer.locator("strong").innerText()).toBe("there");
    expect(await answer.locator("pre").innerText()).toBe("let a = 1;");
    await answer.getByText("Thoughts").click();
    expect(await answer.locator(".thoughts p").innerText()).toBe("Let me see.");
    // All of it came from the gateway, under the page's own policy.
    expect({ faults, origins: [...origins] }).toEqual({ faults: [], origins: [url] });
  });

  it.each([
    ["one of some texts", "Texts", "yes\n\nno", { type: "choice", choice: ["yes", "no"] }],
    ["what matches an expression", "Regular expression", "a+", { type: "regex", regex: "a+" }],
    ["a text of a grammar", "Grammar", "root ::= a", { type: "grammar", grammar: "root ::= a" }],
  ])("hold the answer to %s", async (option, label, value, responseFormat) => {
    const backend = scripted({ chat: says("Yes.") });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    await labelled(page, "The answer is").selectOption(option);
    await labelled(page, label).fill(value);
    await say(page, "First?");
    await page.getByRole("button", { name: "Again" }).waitFor();
    expect(backend.asked[0]).toMatchObject({ responseFormat });
  });

  it("tell the model what was said before, with the settings that it knows", async () => {
    const backend = scripted({ chat: says("Yes.") });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    await labelled(page, "System prompt").fill("Be brief.");
    await labelled(page, "Temperature").fill("0.1");
    await labelled(page, "Seed").fill("7");
    await labelled(page, "Min p").fill("0.05");
    await labelled(page, "Reasoning effort").selectOption("low");
    await labelled(page, "Stop at").fill("END\n\nSTOP");
    await labelled(page, "The answer is").selectOption("JSON by a schema");
    await labelled(page, "JSON schema").fill('{"type":"object"}');
    await labelled(page, "Let it draw").check();
    await labelled(page, "Aspect ratio").fill("16:9");
    await say(page, "First?");
    await page.getByRole("button", { name: "Again" }).waitFor();
    await say(page, "Second?");
    await expect.poll(() => page.getByRole("button", { name: "Again" }).count()).toBe(2);
    expect(backend.asked[1]).toMatchObject({
      ...{ model: "chat-1", temperature: 0.1, seed: 7n, maxTokens: 2048 },
      ...{ minP: 0.05, reasoningEffort: "low", verbosity: "", stop: ["END", "STOP"] },
      responseFormat: { type: "json_schema", jsonSchema: { schema: '{"type":"object"}' } },
      ...{ modalities: ["text", "image"], imageConfig: { aspectRatio: "16:9" } },
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "First?" },
        { role: "assistant", content: "Yes." },
        { role: "user", content: "Second?" },
      ],
    });
    // What was answered to the first is asked again, and all that came after it goes.
    await page.getByRole("button", { name: "Again" }).first().click();
    await expect.poll(() => backend.asked.length).toBe(3);
    expect((backend.asked[2] as LLMRequest).messages.map(({ content }) => content)).toEqual([
      ...["Be brief.", "First?"],
    ]);
    await page.getByRole("button", { name: "Edit" }).first().click();
    expect(await labelled(page, "Message").inputValue()).toBe("First?");
    expect(await page.getByRole("article").count()).toBe(0);
  });

  it("take what a model writes for a text, whatever it is", async () => {
    const evil =
      "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>";
    const { url } = await serve(scripted({ chat: says(evil, `\`${evil}\``) }), shown);
    const { page, faults } = await opened(url);
    await say(page, evil);
    await page.getByText(/\d tokens/).waitFor();
    expect(
      await page.getByRole("article", { name: "Model" }).locator(".markdown").innerText(),
    ).toBe(evil + evil);
    expect(await page.locator("article img, article script").count()).toBe(0);
    expect({ title: await page.title(), faults }).toEqual({ title: "Lintel", faults: [] });
  });

  it("stop where somebody says so, and the model hears of it", async () => {
    const { handle, aborted } = hangsAfter("Once ");
    const backend = scripted({ chat: handle });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    await say(page, "Tell me a story");
    await page.getByText("Once").waitFor();
    await button(page, "Stop").click();
    await aborted;
    await page.getByText(/stopped/).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("tell why there is no answer, or only a half", async () => {
    const backend = scripted({
      async *chat(call) {
        if (call.request.messages.length === 1) throw new LintelError("invalid_value", "too rude");
        yield [piece("Half ")];
        throw new LintelError("upstream_failed", "the model server failed");
      },
    });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    await say(page, "Hm?");
    expect(await page.getByRole("alert").innerText()).toBe("too rude");
    await say(page, "Hm.");
    await page.getByText("Half").waitFor();
    expect(await page.getByRole("alert").last().innerText()).toMatch(/failed/);
  });

  it("tell that an answer broke off where the gateway goes away, and keep what came", async () => {
    const { port } = await serve(scripted({ chat: hangsAfter("Once ").handle }), shown);
    const way = await slowLink(port, Number.POSITIVE_INFINITY);
    const { page } = await opened(`http://127.0.0.1:${way.port}`);
    await say(page, "Tell me a story");
    await page.getByText("Once").waitFor();
    await way.close();
    expect(await page.getByRole("alert").innerText()).toBe("the stream broke off");
    await say(page, "Go on");
    await expect.poll(() => page.getByRole("alert").count()).toBe(2);
    expect(await page.getByRole("alert").last().innerText()).toBe("the gateway does not answer");
    expect(await page.getByText("Once").count()).toBe(1);
  });

  it("show pictures to models that look at them, and those that models draw", async () => {
    const drawn = drawnImage(`data:image/png;base64,${png(3).toString("base64")}`);
    const backend = scripted({ chat: draws("Look:", [drawn]) });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    const file = { name: "a.png", mimeType: "image/png", buffer: png(5) };
    await page.locator("input[type=file]").setInputFiles(file);
    await page.getByAltText("to be shown").waitFor();
    await say(page, "What is it?");
    await page.getByAltText("drawn by the model").waitFor();
    expect(backend.asked[0]).toMatchObject({
      messages: [
        {
          parts: [
            { type: "text", text: "What is it?" },
            { imageUrl: { url: `data:image/png;base64,${png(5).toString("base64")}` } },
          ],
        },
      ],
    });
  });

  it("hand pictures back to who drew them, with what comes with them, also of a page that was loaded again", async () => {
    const url = `data:image/png;base64,${png(3).toString("base64")}`;
    const signed = { google: { thought_signature: "c2ln" } };
    const pictures = [drawnImage(url, JSON.stringify(signed)), drawnImage(url)];
    const backend = scripted({ chat: draws("", pictures) }, [
      chatModel("m", { supports: ["modalities"] }),
    ]);
    const gateway = await serve(backend, shown);
    const { page } = await opened(gateway.url);
    await say(page, "Draw a cat");
    await button(page, "Again").waitFor();
    await page.reload();
    await say(page, "With a hat");
    await expect.poll(() => backend.asked.length).toBe(2);
    const [, answer] = (backend.asked[1] as LLMRequest).messages;
    expect(answer).toMatchObject({ role: "assistant", content: "", images: [{}, {}] });
    const told = answer?.images.map((one) => [one.imageUrl?.url, one.extraContent]);
    expect(told).toEqual([
      [url, JSON.stringify(signed)],
      [url, undefined],
    ]);
  });

  it("offer no settings that a model has not", async () => {
    const models = [chatModel("plain", { supports: ["temperature"] }), chatModel("full")];
    const backend = scripted({ chat: says("Hi") }, models);
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    await labelled(page, "Model").selectOption("full");
    await labelled(page, "Seed").fill("5");
    await labelled(page, "Model").selectOption("plain");
    expect(await labelled(page, "Seed").count()).toBe(0);
    expect(await labelled(page, "Temperature").count()).toBe(1);
    // What was written for the other one is not sent.
    await say(page, "Hi");
    await button(page, "Again").waitFor();
    expect(await page.locator(".warnings").count()).toBe(0);
    expect(backend.asked[0]).toMatchObject({ model: "plain" });
  });

  it("tell how likely tokens were, where somebody wants to know", async () => {
    const likely = (token: string, share: number, others: readonly TopLogprob[] = []) =>
      create(TokenLogprobSchema, { token, logprob: Math.log(share), topLogprobs: [...others] });
    const other = create(TopLogprobSchema, { token: "No", logprob: Math.log(0.25) });
    const tokens = [likely("Yes", 0.75, [other]), likely("!", 0.05)];
    const backend = scripted({
      async *chat() {
        for (const token of tokens) {
          const content = create(LogprobsSchema, { content: [token] });
          yield [
            { ...piece(""), choices: [{ ...deltaChoice(token.token, ""), logprobs: content }] },
          ];
        }
        yield [piece("", "stop", [1, 2])];
      },
    });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    await say(page, "Is it?");
    await button(page, "Again").waitFor();
    expect(backend.asked[0]).toMatchObject({ logprobs: false });
    await labelled(page, "Tell how likely tokens were").check();
    await button(page, "Again").click();
    await page.getByText("Tokens", { exact: true }).click();
    expect(backend.asked[1]).toMatchObject({ logprobs: true, topLogprobs: 5 });
    const spans = page.locator(".tokens span");
    expect(await spans.allInnerTexts()).toEqual(["Yes", "!"]);
    expect(await spans.evaluateAll((all) => all.map((one) => one.className))).toEqual([
      ...["doubt1", "doubt4"],
    ]);
    expect(await spans.first().getAttribute("title")).toBe('"No" 25.0%');
  });

  it("get through a proxy that asks for its own cookie", async () => {
    const { url } = await serve(scripted({ chat: says("Hi") }), shown);
    const { page } = await opened(url, "#models");
    await page.context().addCookies([{ name: "login", value: "1", url }]);
    const asked = page.waitForRequest(/ListModels$/);
    await button(page, "Look again").click();
    expect((await (await asked).allHeaders()).cookie).toBe("login=1");
  });

  it("begin with a model of the list, which tells what each takes and gives", async () => {
    const sees = { inputModalities: ["text", "image"], outputModalities: ["text"] };
    const models = [chatModel("plain"), chatModel("sees", { ...sees, contextLength: 8192 })];
    const { url } = await serve(scripted({ chat: says("Hi") }, models), shown);
    const { page } = await opened(url, "#models");
    const row = page.getByRole("row").filter({ hasText: "sees" });
    await row.waitFor();
    const cells = await row.getByRole("cell").allInnerTexts();
    expect(cells.slice(0, -1)).toEqual([
      ...["sees", "chat", "ready", "8,192", "", "text, image", "text"],
    ]);
    await button(page, "sees").click();
    await page.getByText("What you say goes to sees.").waitFor();
  });

  it("know what a model takes as soon as it is loaded", async () => {
    let models = [chatModel("chat-1", { state: State.LOADING, supports: [] })];
    const backend = scripted({ chat: says("Hi") }, [], "slow", { models: () => models });
    const { url } = await serve(backend, shown);
    const { page } = await opened(url);
    await labelled(page, "Model").waitFor();
    expect(await labelled(page, "Seed").count()).toBe(0);
    models = [chatModel("chat-1")];
    await labelled(page, "Seed").waitFor();
  });
});
