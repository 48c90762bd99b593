/** What is added to the logits of a GGUF model's tokens. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { importLlama, runtime } from "../../src/backends/llama/library.js";
import { silent } from "../../src/core/log.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { backendFor, say, trained } from "./llama-subject.js";

/** The model's own vocabulary. */
async function vocabulary() {
  const { llama } = await runtime(await importLlama(), false, silent);
  const model = await llama.loadModel({ modelPath: trained });
  onTestFinished(() => model.dispose());
  return model;
}

/** The ids of a text's tokens. */
const idsOf = async (text: string): Promise<number[]> => [...(await vocabulary()).tokenize(text)];

/** Asks the trained model, which answers alike each time. */
function asking() {
  const backend = backendFor(trained);
  onTestFinished(() => backend.close());
  const core = coreOf([backend]);
  return async (logitBias: LLMRequest["logitBias"], more: object = {}) => {
    const messages = [say("What is 2 + 3?")];
    const request = { messages, temperature: 0, maxTokens: 24, logitBias, ...more };
    const { code, error, messages: answers } = await outcome(core, "complete", request);
    const [answer] = answers;
    const choice = answer?.choices[0];
    return {
      ...{ code, error, warnings: answer?.warnings },
      ...{ text: choice?.message?.content ?? "", ended: choice?.finishReason },
    };
  };
}

describe("tokens", () => {
  it("that are made unlikely are not said, and those that are made likely are", async () => {
    const ask = asking();
    const { text } = await ask({});
    const [first = 0] = await idsOf(text);
    const without = await ask({ [first]: -100 });
    expect(without).toMatchObject({ code: "ok", warnings: [] });
    expect(without.text).not.toBe(text);
    const [likely = 0] = await idsOf("w");
    const alone = await ask({ [likely]: 100 }, { maxTokens: 5 });
    expect(alone).toMatchObject({ text: "wwwww", ended: "length" });
    // A little changes nothing where the others are far behind.
    expect((await ask({ [likely]: 1e-3 })).text).toBe(text);
  });

  it("that a form does not allow are not said for being likely", async () => {
    const ask = asking();
    const [letter = 0, quote = 0] = [...(await idsOf("w")).slice(-1), ...(await idsOf('"'))];
    const responseFormat = {
      type: "json_schema",
      jsonSchema: {
        name: "n",
        schema:
          '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}',
      },
    };
    const { text } = await ask({ [letter]: 100 }, { responseFormat });
    expect(JSON.parse(text)).toEqual({ a: expect.any(Number) });
    // And what it asks for is said though it is made unlikely.
    expect(JSON.parse((await ask({ [quote]: -100 }, { responseFormat })).text)).toEqual({
      a: expect.any(Number),
    });
  });

  it("that end answers keep theirs, which is told", async () => {
    const ask = asking();
    const { text } = await ask({});
    const { eos, eot } = (await vocabulary()).tokens;
    const end = eot ?? eos ?? 0;
    expect(await ask({ [end]: -100 })).toMatchObject({
      ...{ text, ended: "stop" },
      warnings: [`logit_bias["${end}"]: ends answers of this model, ignored`],
    });
  });

  it("that the model has not are refused", async () => {
    const { code, error } = await asking()({ 2000000000: 1, 5: 1 });
    expect(code).toBe("invalid_fields");
    expect(error?.violations).toEqual([
      {
        field: 'logit_bias["2000000000"]',
        message: expect.stringMatching(/^its key must be from 0 to \d+ for this model$/),
      },
    ]);
  });
});
