/** Whether a caller's own tags in a prompt reach a server that loads LoRAs by them. */
import { expect, it, onTestFinished } from "vitest";
import type { Bounds } from "../../src/core/settings.js";
import { never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { Webui } from "./sdapi-server.js";
import { backendFor } from "./sdapi-subject.js";

async function ask(bounds: Bounds, request: object) {
  const webui = await Webui.start("a1111");
  const backend = backendFor(webui.upstream.url);
  onTestFinished(async () => {
    webui.upstream.close();
    await backend.close();
  });
  await backend.ready?.("", never);
  const common = { modelId: "v1-5-pruned-emaonly", width: 64, height: 64, safetyCheck: false };
  const [answer] = await run(coreOf([backend], { bounds }), "textToImage", {
    ...common,
    ...request,
  });
  const { prompt, negative_prompt: negative } = webui.asked[0] ?? {};
  return { prompt, negative, warnings: answer?.warnings };
}

const warning = "loras: tags in prompts are plain text here, this field asks for LoRAs";

it("they do where LoRAs have no bound of the operator's", async () => {
  const prompt = "a cat <lora:watercolor:2>";
  const asked = { prompt, negativePrompt: "<hypernet:bad:1>" };
  expect(await ask({ prompts: { max: 2 } }, asked)).toEqual({
    prompt,
    negative: "<hypernet:bad:1>",
    warnings: [],
  });
});

it.each([0, 1, 4])("they don't where at most %i LoRAs are allowed", async (max) => {
  const asked = {
    prompt: "a <b> cat <LoRA:watercolor:2><<lora:lora:x:1>",
    negativePrompt: "<lyco:x:1> < lora:y:1> <Hypernet:bad:1>",
  };
  expect(await ask({ loras: { max } }, asked)).toEqual({
    prompt: "a <b> cat < LoRA:watercolor:2><< lora:lora:x:1>",
    negative: "< lyco:x:1> < lora:y:1> < Hypernet:bad:1>",
    warnings: [warning],
  });
});

it.each([
  ["a cat <lora:x:1>", ""],
  ["a cat", "<lyco:x:1>"],
])("a tag in either prompt is told of (%j, %j)", async (prompt, negativePrompt) => {
  const { warnings } = await ask({ loras: { max: 1 } }, { prompt, negativePrompt });
  expect(warnings).toEqual([warning]);
});

it("those that Lintel makes of the field loras do under a bound, and nothing is told", async () => {
  const asked = { prompt: "a <b> cat", loras: '{"watercolor":0.5}' };
  expect(await ask({ loras: { max: 1 } }, asked)).toEqual({
    prompt: "a <b> cat<lora:watercolor:0.5>",
    negative: "",
    warnings: [],
  });
});
