/** What clients of servers of open models send to OpenAI's paths by names of those. */
import { describe, expect, test } from "vitest";
import { says } from "../support/scripted.js";
import { asked } from "./asked.js";
import { hello, json, serveChat } from "./serve.js";

const completions = "/v1/chat/completions";
const responses = "/v1/responses";

const bodies = (more: object): [path: string, body: object][] => [
  [completions, hello(more)],
  [responses, { input: "Hello", ...more }],
];

describe("other names of the contract's fields", () => {
  test.each([
    [{ random_seed: 3 }, { seed: 3n }],
    [{ random_seed: 3, seed: 4 }, { seed: 4n }],
    [{ random_seed: 3, seed: null }, { seed: 3n }],
    [{ random_seed: null }, { seed: undefined }],
    [{ repeat_penalty: 1.1 }, { repetitionPenalty: 1.1 }],
    [{ repeat_penalty: 1.1, repetition_penalty: 1.2 }, { repetitionPenalty: 1.2 }],
  ])("%j", async (more, told) => {
    for (const [path, body] of bodies(more)) {
      const { request, warnings } = await asked(path, body);
      expect(request).toMatchObject(told);
      expect(warnings).toEqual([]);
    }
  });

  test.each([
    ["random_seed", { random_seed: "three" }, "must be an integer"],
    ["repeat_penalty", { repeat_penalty: 0 }, "must be"],
  ])("422 by the client's name of the field: %s", async (param, more, message) => {
    const { post } = await serveChat(says("Hi"));
    for (const [path, body] of bodies(more)) {
      const answer = await post(path, body);
      expect(answer.status).toBe(422);
      const { error } = await json(answer);
      expect(error).toMatchObject({ param });
      expect(error.message).toContain(`${param}: ${message}`);
    }
  });
});

describe("what vLLM's chats have", () => {
  test("asks for nothing where it is what it is by default", async () => {
    const { warnings } = await asked(
      completions,
      hello({
        ...{ stop_token_ids: [], min_tokens: 0, ignore_eos: false, bad_words: [], best_of: 1 },
        ...{ include_stop_str_in_output: false, use_beam_search: false, length_penalty: 1 },
        ...{ add_generation_prompt: true, continue_final_message: false, echo: false },
        ...{ truncate_prompt_tokens: null, allowed_token_ids: null, chat_template: null },
        ...{ return_token_ids: false, documents: [], prompt_logprobs: null },
        ...{ skip_special_tokens: true, spaces_between_special_tokens: true, priority: 0 },
      }),
    );
    expect(warnings).toEqual([]);
  });

  test.each([
    ["stop_token_ids", [128009]],
    ["allowed_token_ids", [1, 2]],
    ["bad_words", ["no"]],
    ["thinking_token_budget", 512],
    ["min_tokens", 5],
    ["ignore_eos", true],
    ["include_stop_str_in_output", true],
    ["use_beam_search", true],
    ["best_of", 3],
    ["length_penalty", 2],
    ["truncate_prompt_tokens", 100],
    ["chat_template", "{{ messages }}"],
    ["continue_final_message", true],
    ["add_generation_prompt", false],
    ["echo", true],
  ])("%s is dropped, and said", async (name, value) => {
    const { warnings } = await asked(completions, hello({ [name]: value }));
    expect(warnings).toEqual([`${name}: not supported, ignored`]);
  });

  test.each([
    ["documents", [{ title: "a", text: "b" }]],
    ["prompt_logprobs", 0],
    ["logprob_token_ids", [5]],
    ["return_token_ids", true],
    ["return_tokens_as_token_ids", true],
    ["return_prompt_text", true],
  ])("%s is refused", async (param, value) => {
    const { post } = await serveChat(says("Hi"));
    const answer = await post(completions, hello({ [param]: value }));
    expect(answer.status).toBe(400);
    expect((await json(answer)).error).toMatchObject({ code: "unsupported_parameter", param });
  });
});
