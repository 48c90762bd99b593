/** Prompts on their way into the image pipeline: tokens, and what the text encoders make of them. */
import { describe, expect, it } from "vitest";
import { readFolder } from "../../src/backends/onnx/folder.js";
import type { Graph } from "../../src/backends/onnx/graph.js";
import { loadRuntime } from "../../src/backends/onnx/runtime.js";
import { promptEncoder } from "../../src/backends/onnx/text.js";
import { promptTokenizer } from "../../src/backends/onnx/tokens.js";
import { folderOf } from "./onnx/support.js";

describe("prompts", () => {
  it("are cut and padded on the side that the tokenizer says", async () => {
    const runtime = await loadRuntime();
    const [encoder] = (await readFolder(folderOf("tiny"))).encoders;
    if (!encoder) throw new Error("there is an encoder");
    const at = (padding_side: "left" | "right", truncation_side: "left" | "right") =>
      promptTokenizer(runtime, {
        ...encoder,
        tokenizerConfig: { ...encoder.tokenizerConfig, padding_side, truncation_side },
      });
    const words = "a red circle on blue yellow star and".split(" ");
    const usual = at("right", "right");
    const whole = (some: string[]) => {
      const { ids, cut } = usual(some.join(" "));
      expect(cut).toBe(false);
      return ids;
    };
    const long = words.join(" ");
    expect(usual(long)).toEqual({ ids: whole(words.slice(0, 6)), cut: true });
    expect(at("right", "left")(long)).toEqual({ ids: whole(words.slice(2)), cut: true });
    const padded = whole(words.slice(0, 2));
    expect(padded).toHaveLength(8);
    const pad = padded.slice(4);
    expect(new Set(pad).size).toBe(1);
    expect(at("left", "right")("a red").ids).toEqual([...pad, ...padded.slice(0, 4)]);
  });

  it("have as many tokens as the tokenizer says and the encoder has places for", async () => {
    const runtime = await loadRuntime();
    const [encoder] = (await readFolder(folderOf("tiny"))).encoders;
    if (!encoder) throw new Error("there is an encoder");
    const lengthOf = (model_max_length?: number, max_position_embeddings?: number) =>
      promptTokenizer(runtime, {
        ...encoder,
        config: { ...encoder.config, max_position_embeddings },
        tokenizerConfig: { ...encoder.tokenizerConfig, model_max_length },
      })("a").ids.length;
    expect([lengthOf(5, 8), lengthOf(1e30, 6), lengthOf(5.5), lengthOf(8, 5)]).toEqual([
      5, 6, 5, 5,
    ]);
    expect(() => lengthOf(1e30)).toThrow("tokenizer_config.json: model_max_length: is needed");
  });

  it("are encoded once while they are among the latest", async () => {
    const encoded: string[] = [];
    const encode = promptEncoder([
      {
        tokenize: (text) => {
          encoded.push(text);
          return { ids: [1, 2], cut: false };
        },
        graph: {
          runAll: async () => [{ data: new Float32Array(2), dims: [1, 2, 1] }],
        } as unknown as Graph,
        outputs: { states: "last_hidden_state" },
      },
    ]);
    const prompts = Array.from({ length: 100 }, (_, i) => `picture ${i}`);
    for (const prompt of prompts) {
      await encode([prompt], "prompt");
      await encode(["blurry"], "negative_prompt");
    }
    expect(encoded).toEqual([prompts[0], "blurry", ...prompts.slice(1)]);
    // Of a hundred different ones the first is not kept any more.
    await encode(["picture 99"], "prompt");
    await encode(["picture 0"], "prompt");
    expect(encoded.slice(101)).toEqual(["picture 0"]);
  });
});
