/** What spans tell of a request's parameters. */
import { expect, onTestFinished, test } from "vitest";
import { outcome } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { imageModel } from "../support/models.js";
import { backend, hello } from "../support/routing.js";
import { paints, says, scripted } from "../support/scripted.js";
import { Collector } from "./collector.js";
import { otlpTo, telemetryOf } from "./support.js";

async function spans(wanted = /^(?:gen_ai|openai)\.request\./) {
  const sink = await Collector.start();
  onTestFinished(() => sink.close());
  const { telemetry, close } = await telemetryOf({ otlp: otlpTo(sink.url) });
  const told = async () => {
    await close();
    const span = sink.spans.find(({ kind }) => kind === 2);
    const all = Object.entries(span?.attributes ?? {});
    return Object.fromEntries(all.filter(([name]) => wanted.test(name)));
  };
  return { telemetry, told };
}

test("of a completion they are those that the caller gave", async () => {
  const { telemetry, told } = await spans();
  const core = coreOf([backend("a", says("x"))], {}, { telemetry });
  const asked = { maxTokens: 20, temperature: 0.5, topP: 0.9, topK: 5, seed: 0n, stop: ["."] };
  const penalties = { frequencyPenalty: 0.5, presencePenalty: -0.5 };
  await run(core, "complete", {
    ...{ ...hello, model: "m", ...asked, ...penalties },
    ...{ reasoningEffort: "low", serviceTier: "flex" },
  });
  expect(await told()).toEqual({
    "gen_ai.request.model": "m",
    "gen_ai.request.stream": false,
    "gen_ai.request.max_tokens": 20,
    "gen_ai.request.temperature": 0.5,
    "gen_ai.request.top_p": 0.9,
    "gen_ai.request.top_k": 5,
    "gen_ai.request.seed": 0,
    "gen_ai.request.frequency_penalty": 0.5,
    "gen_ai.request.presence_penalty": -0.5,
    "gen_ai.request.stop_sequences": ["."],
    "gen_ai.request.reasoning.level": "low",
    "openai.request.service_tier": "flex",
  });
});

test.each([
  [1, {}],
  [3, { "gen_ai.request.choice.count": 3 }],
])("of %d images they are the seed and how many", async (numImagesPerPrompt, more) => {
  const { telemetry, told } = await spans();
  const painter = scripted({ streamTextToImage: paints(2) }, [imageModel("i")]);
  const core = coreOf([painter], {}, { telemetry });
  await run(core, "streamTextToImage", {
    modelId: "i",
    prompt: "a cat",
    seed: 7n,
    numImagesPerPrompt,
  });
  expect(await told()).toMatchObject({ "gen_ai.request.seed": 7, ...more });
});

test("of a call that names a user it is that one, and of others nothing", async () => {
  for (const [user, attributes] of [
    ["u-1", { "enduser.id": "u-1", "user.id": "u-1" }],
    ["", {}],
    ["a\nb", {}],
  ] as const) {
    const { telemetry, told } = await spans(/user/);
    const core = coreOf([backend("a", says("x"))], {}, { telemetry });
    await outcome(core, "complete", { ...hello, model: "m", user });
    expect(await told()).toEqual(attributes);
  }
});
