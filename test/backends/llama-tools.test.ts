/** Tools of models in this process: what a model has to call, and how its calls are read. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { Evaluation } from "../../src/backends/llama/evaluation.js";
import { generate } from "../../src/backends/llama/generate.js";
import { loadModel } from "../../src/backends/llama/load.js";
import { silent } from "../../src/core/log.js";
import type { Served } from "../doors/serve.js";
import { never } from "../support/calls.js";
import { jsonSchema } from "../support/formats.js";
import { choicesOf, serveFile } from "./llama-gateway.js";
import { backendFor, chatRequest, say, tiny, tinyWith, withField } from "./llama-subject.js";
import { templates } from "./llama-tool-templates.js";
import {
  ask,
  backendWith,
  choice,
  conversation,
  fileWith,
  folder,
  loaded,
  place,
  tool,
  tools,
} from "./llama-tools-subject.js";

describe("a model that has to call", () => {
  const seeds = [1n, 2n, 3n, 4n];

  it.each(Object.keys(templates) as (keyof typeof templates)[])(
    "calls one that is required, with what fits: %s",
    async (name) => {
      const backend = await backendWith(name, templates[name]);
      const [model] = backend.models();
      expect(model?.supports).toEqual(
        expect.arrayContaining(["tools", "tool_choice", "parallel_tool_calls"]),
      );
      for (const seed of seeds) {
        const sampling = { temperature: 1, seed, parallelToolCalls: false };
        const told = await ask(backend, { ...choice("function", "weather"), ...sampling });
        expect(told).toMatchObject({ text: "", finishReason: "tool_calls", warnings: [] });
        expect(told.calls).toHaveLength(1);
        const [{ function: called, index } = { index: -1 }] = told.calls;
        expect({ index, name: called?.name }).toEqual({ index: 0, name: "weather" });
        z.fromJSONSchema(place as never).parse(JSON.parse(called?.arguments ?? ""));
        // Where any arguments will do, random weights write on.
        const some = await ask(backend, { ...choice("required"), ...sampling, maxTokens: 200 });
        if (some.finishReason === "length") continue;
        expect(some).toMatchObject({ text: "", finishReason: "tool_calls" });
        expect(["weather", "stop"]).toContain(some.calls[0]?.function?.name);
      }
    },
  );

  it.each([
    ...(["phi", "kimi", "deepSeek", "llamaPython", "lfm", "command", "solar", "kimiTags"] as const),
    ...(["receivers", "actions", "gemmaPlain"] as const),
  ])("may call several, where the caller takes them: %s", async (name) => {
    const backend = await backendWith(name, templates[name]);
    const only = [tool("weather", place)];
    const counts: number[] = [];
    for (const seed of [...seeds, 5n, 6n, 7n, 8n]) {
      const sampling = { temperature: 2, seed };
      const { calls } = await ask(backend, { ...choice("required"), ...sampling, tools: only });
      counts.push(calls.length);
      expect(calls.map(({ index }) => index)).toEqual(calls.map((_, i) => i));
    }
    expect(Math.max(...counts)).toBeGreaterThan(1);
  });

  it.each(["hermes", "harmony", "glimmer", "solar", "kimiTags", "receivers"] as const)(
    "answers in a form, or calls, where both are asked for: %s",
    async (name) => {
      const backend = await backendWith(name, templates[name]);
      const responseFormat = jsonSchema({ const: "no" });
      const all: string[] = [];
      for (const seed of [...seeds, 5n, 6n, 7n, 8n]) {
        const more = { temperature: 5, seed, responseFormat, parallelToolCalls: false };
        const only = [tool("weather", place)];
        const { text, calls, finishReason } = await ask(backend, { ...more, tools: only });
        all.push(calls.length > 0 ? "call" : text);
        expect(finishReason).toBe(calls.length > 0 ? "tool_calls" : "stop");
      }
      expect(new Set(all)).toEqual(new Set(["call", '"no"']));
      // Who wants a call gets one.
      for (const seed of seeds) {
        const forced = { ...choice("required"), parallelToolCalls: false, temperature: 5, seed };
        const only = [tool("weather", place)];
        expect((await ask(backend, { ...forced, responseFormat, tools: only })).text).toBe("");
      }
    },
  );

  it.each(["hermes", "harmony", "glimmer", "qwenCoder", "llamaPython"] as const)(
    "calls with whatever its arguments are, also with what ends an answer: %s",
    async (name) => {
      const backend = await backendWith(name, templates[name]);
      const sampling = { temperature: 1, seed: 1n, parallelToolCalls: false };
      const forced = { ...choice("function", "weather"), ...sampling };
      const plain = await ask(backend, forced);
      const told = await ask(backend, { ...forced, stop: ["weather", "city", "o", "R"] });
      expect(told).toMatchObject({ text: "", finishReason: "tool_calls" });
      const args = ({ calls }: typeof told) => calls.map((call) => call.function?.arguments);
      expect(args(told)).toEqual(args(plain));
    },
  );

  it("answers in a form up to what ends an answer", async () => {
    const backend = await backendWith("hermes", templates.hermes);
    const responseFormat = jsonSchema({ const: "no way" });
    const told = await ask(backend, { tools: [], responseFormat, stop: ["way"] });
    expect(told).toMatchObject({ text: '"no ', calls: [], finishReason: "stop" });
  });

  it("is held to arguments to the letter only where that can be, or says why not", async () => {
    const backend = await backendWith("hermes", templates.hermes);
    const hard = {
      type: "object",
      properties: { a: { $ref: "#/$defs/a" } },
      $defs: { a: { type: "string", pattern: "a" } },
    };
    const forced = { ...choice("required"), parallelToolCalls: false };
    const told = await ask(backend, {
      ...forced,
      tools: [tool("x", hard)],
      temperature: 1,
      seed: 4n,
    });
    if (told.finishReason !== "length") expect(told.calls[0]?.function?.name).toBe("x");
    await expect(ask(backend, { ...forced, tools: [tool("x", hard, true)] })).rejects.toMatchObject(
      {
        code: "unsupported_parameter",
        param: "tools",
        message: expect.stringContaining('"pattern"'),
      },
    );
  });
});

describe("a mark that is a control token", () => {
  it("is read, though it is no text of an answer", async () => {
    const path = join(await folder(), "control.gguf");
    const mark = "[TOOL_CALLS]";
    const call = '{"name": "stop", "arguments": {}}';
    await writeFile(path, await tinyWith(templates.mistral, { "<|system|>": mark }));
    const settings = { path, sequences: 1, gpu: false, contextSize: 4096 } as const;
    const model = await loadModel(settings, { log: silent, signal: never });
    onTestFinished(() => model.close());
    const of = (text: string) => model.model.tokenize(text, true);
    expect(of(mark)).toHaveLength(1);
    const script = of(`Ok.${mark}[${call}]`);
    const several = of(`${mark}[${call}, ${call}] and more`);
    const next = vi.spyOn(Evaluation.prototype, "next");
    onTestFinished(() => next.mockRestore());
    for (const token of script) next.mockResolvedValueOnce(token);
    next.mockResolvedValueOnce(undefined);
    const messages: LLMResponse[] = [];
    const request = chatRequest("hello", { maxTokens: 900, tools });
    for await (const batch of generate(model, request, never)) messages.push(...batch);
    const said = messages.map(({ choices }) => choices[0]?.delta);
    expect(said.map((it) => it?.content).join("")).toBe("Ok.");
    expect(said.flatMap((it) => it?.toolCalls)).toMatchObject([{ function: { name: "stop" } }]);
    // Who wants one call at once gets one, and nothing more.
    for (const token of several) next.mockResolvedValueOnce(token);
    const first: LLMResponse[] = [];
    const alone = { ...request, parallelToolCalls: false };
    for await (const batch of generate(model, alone, never)) first.push(...batch);
    expect(first.map(({ choices: [it] }) => it?.delta?.toolCalls.length)).toEqual([1, 0]);
    expect(first.at(-1)?.choices[0]?.finishReason).toBe("tool_calls");
    expect(next).toHaveBeenCalledTimes(script.length + 1 + several.length - " and more".length);
    next.mockReset();
    // Without tools it is passed over, as other control tokens are.
    for (const token of script) next.mockResolvedValueOnce(token);
    next.mockResolvedValueOnce(undefined);
    const plain: LLMResponse[] = [];
    for await (const batch of generate(model, { ...request, tools: [] }, never))
      plain.push(...batch);
    const texts = plain.map(({ choices }) => choices[0]?.delta?.content);
    expect(texts.join("")).toBe(`Ok.[${call}]`);
  });
});

describe("a text that ends an answer", () => {
  it("is one in front of a call, and behind it, and none within", async () => {
    const model = await loaded("hermes");
    const call = '<tool_call>{"name": "weather", "arguments": {"city": "END"}}</tool_call>';
    const next = vi.spyOn(Evaluation.prototype, "next");
    onTestFinished(() => next.mockRestore());
    const told = async (answer: string, more: Partial<LLMRequest> = {}) => {
      next.mockReset();
      for (const token of model.model.tokenize(answer, true)) next.mockResolvedValueOnce(token);
      next.mockResolvedValueOnce(undefined);
      const request = chatRequest("hello", { maxTokens: 900, tools, stop: ["END"], ...more });
      const messages: LLMResponse[] = [];
      for await (const batch of generate(model, request, never)) messages.push(...batch);
      const said = messages.map(({ choices }) => choices[0]?.delta);
      return [
        ...said.map((it) => it?.content || it?.toolCalls[0]?.function?.arguments).filter(Boolean),
        messages.at(-1)?.choices[0]?.finishReason,
      ].join("");
    };
    const args = '{"city":"END"}';
    expect(await told(`I lo${call} E${call} is ENDless`)).toBe(`I lo${args}E${args}is tool_calls`);
    expect(next).toHaveBeenCalledTimes(`I lo${call} E${call} is END`.length);
    expect(await told(`The END${call}`)).toBe("The stop");
    // What began like a call, and is none, is text.
    expect(await told("So: <tool_call>THE END</tool_call>")).toBe("So: <tool_call>THE stop");
    expect(await told('So: <tool_call>{"name": END', { maxTokens: 27 })).toBe(
      'So: <tool_call>{"name": stop',
    );
  });
});

describe("a file with a template for tools besides", () => {
  const plain =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>";
  async function loadedWith(other: string) {
    const path = join(await folder(), "besides.gguf");
    const field = "tokenizer.chat_template.tool_use";
    await writeFile(path, withField(await tinyWith(plain), field, other));
    const settings = { path, sequences: 1, gpu: false, contextSize: 4096 } as const;
    const model = await loadModel(settings, { log: silent, signal: never });
    onTestFinished(() => model.close());
    const text = (...args: Parameters<typeof model.tokenize>) =>
      model.model.detokenize(model.tokenize(...args), true).trim();
    return { model, text };
  }
  const parameters = { type: "object", properties: {} };
  const asked = {
    tools: [{ type: "function", function: { name: "add", description: "", parameters } }],
  };

  it("has them by it, and none of it where there are no tools", async () => {
    const { model, text } = await loadedWith(templates.command);
    expect(model.tools?.begin).toBe("<|START_ACTION|>");
    expect(text([say("hi")], asked)).toContain('"name": "add"');
    expect(text(conversation)).toContain('"tool_name": "weather"');
    expect(text([say("hi")])).toBe("<|user|>hi<|end|><|assistant|>");
  });

  it.each([
    ["tells of none", "{{ messages[0].content }}"],
    ["does not work", "{{ raise_exception('no') }}{{ tools }}<tool_call>"],
    ["is none", "{% if tools %}<tool_call>"],
  ])("is one without tools where that %s", async (_, other) => {
    const { model, text } = await loadedWith(other);
    expect(model.tools).toBeUndefined();
    expect(text([say("hi")])).toBe("<|user|>hi<|end|><|assistant|>");
  });
});

describe("a model in a process of its own", () => {
  /** What OpenAI's door answers. */
  async function completion(server: Served, stream: boolean) {
    const choices = await choicesOf(server, {
      messages: [{ role: "user", content: "How is it?" }],
      tools: [{ type: "function", function: { name: "weather", parameters: place } }],
      tool_choice: { type: "function", function: { name: "weather" } },
      stream,
    });
    return {
      calls: choices.flatMap(({ delta, message }) => (delta ?? message).tool_calls ?? []),
      finishReason: choices.at(-1).finish_reason,
    };
  }

  it("calls through a gateway, whole and in a stream", async () => {
    const server = await serveFile(await fileWith("hermes", templates.hermes), {
      context_size: 2048,
    });
    for (const stream of [false, true]) {
      const { calls, finishReason } = await completion(server, stream);
      expect(calls).toMatchObject([{ type: "function", function: { name: "weather" } }]);
      expect(calls[0].id).toMatch(/^call_/);
      z.fromJSONSchema(place as never).parse(JSON.parse(calls[0].function.arguments));
      expect(finishReason).toBe("tool_calls");
    }
  });
});

describe("a model without tools", () => {
  it("says so once it is loaded, and warns who asked before", async () => {
    const backend = backendFor(tiny, { load: "lazy" });
    onTestFinished(() => backend.close());
    expect(backend.models()[0]).toMatchObject({ state: State.IDLE });
    expect(backend.models()[0]?.supports).toContain("tools");
    const { calls, warnings, finishReason } = await ask(backend, { maxTokens: 3 });
    expect({ calls, warnings, finishReason }).toEqual({
      calls: [],
      warnings: ["tools: not supported by this model, ignored"],
      finishReason: "length",
    });
    expect(backend.models()[0]?.supports).not.toContain("tools");
    await expect(ask(backend, choice("required"))).rejects.toMatchObject({
      code: "unsupported_parameter",
      param: "tool_choice",
    });
  });

  it.each([
    ["writes calls in a form that is not known", "{% if tools %}{{ tools }}{% endif %}"],
    ["is not told of them after all", "{% set tools = [] %}<tool_call>"],
    ["can't render them", "{% if tools %}{{ raise_exception('no') }}{% endif %}<tool_call>"],
  ])("is one whose template %s", async (_, template) => {
    const backend = await backendWith("none", `${template}{{ messages[0].content }}`);
    expect(backend.models()[0]?.supports).not.toContain("tools");
    expect(backend.models()[0]?.supports).toContain("response_format");
  });
});
