/** GGUF models that think before they answer, and what they write, token by token. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Token } from "node-llama-cpp";
import { onTestFinished, vi } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { Evaluation } from "../../src/backends/llama/evaluation.js";
import { generate } from "../../src/backends/llama/generate.js";
import { loadModel } from "../../src/backends/llama/load.js";
import type { LoadedModel } from "../../src/backends/llama/model.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { chatRequest, tinyWith } from "./llama-subject.js";

const turn = "<|{{ m.role }}|>{{ m.content }}<|end|>";
const all = `{% for m in messages %}${turn}{% endfor %}<|assistant|>`;

/** In short, as models' own: how they are told to think, or not to. */
const templates = {
  /** Tools, and thoughts of this turn alone. */
  qwen: `{%- if tools %}<|system|>{{ tools | tojson }}<tool_call>{"name": <name>, "arguments": <object>}</tool_call><|end|>{% endif %}
{%- for m in messages %}<|{{ m.role }}|>
{%- if m.role == 'assistant' and m.reasoning_content is string and loop.last %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}<|end|>{% endfor %}<|assistant|>
{%- if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}`,
  deepseek: `${all}{% if thinking %}<think>{% else %}</think>{% endif %}`,
  /** Begins thoughts whatever it is told. */
  forced: `${all}{{ '<think>\n' }}`,
  magistral: `{% if reasoning_effort == 'none' %}{% elif reasoning_effort == 'high' %}[THINK]{% elif reasoning_effort %}{{ raise_exception('none or high!') }}{% endif %}${all}`,
  /** Wants thoughts in turns without a text. */
  strict: `{% for m in messages %}{% if m.thinking and m.content %}{{ raise_exception('not both!') }}{% endif %}{{ m.thinking }}${turn}{% endfor %}<|assistant|>`,
  gemma: `${all}{% if not enable_thinking %}<|channel>thought\n<channel|>{% endif %}`,
  /** On channels, as gpt-oss does. */
  harmony: `{% if tools %}<|start|>developer<|message|>{{ tools | tojson }}<|end|>{% endif %}
{%- for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}<|start|>assistant
{#- <|channel|>commentary #}`,
  /** Thinks, or not, as it likes. */
  untold: `${all}{# <think></think> #}`,
  none: all,
};

/**
 * A file of a model with one of the templates.
 * @param words texts of its control tokens, such as marks
 * @param change makes another file of it
 */
export async function fileWith(
  name: keyof typeof templates,
  words?: Record<string, string>,
  change = (file: Buffer) => file,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, `${name}.gguf`);
  await writeFile(path, change(await tinyWith(templates[name], words)));
  return path;
}

/** Such a model. */
export const loaded = async (name: keyof typeof templates, words?: Record<string, string>) =>
  loadedFrom(await fileWith(name, words));

/** The model of a file. */
export async function loadedFrom(path: string) {
  const settings = { path, sequences: 1, gpu: false, contextSize: 1024 } as const;
  const model = await loadModel(settings, { log: silent, signal: never });
  onTestFinished(() => model.close());
  return model;
}

/** What callers get of what a model writes, token by token; it may be more than is read. */
export async function answerOf(
  model: LoadedModel,
  script: readonly Token[],
  more: Partial<LLMRequest> = {},
) {
  const next = vi.spyOn(Evaluation.prototype, "next");
  onTestFinished(() => next.mockRestore());
  for (const token of script) next.mockResolvedValueOnce(token);
  next.mockResolvedValueOnce(undefined);
  const messages: LLMResponse[] = [];
  const request = chatRequest("hello", { maxTokens: 900, ...more });
  for await (const batch of generate(model, request, never)) messages.push(...batch);
  const read = next.mock.calls.length;
  next.mockReset();
  const said = messages.map(({ choices }) => choices[0]?.delta);
  return {
    thought: said.map((it) => it?.reasoningContent ?? "").join(""),
    text: said.map((it) => it?.content ?? "").join(""),
    calls: said.flatMap((it) => it?.toolCalls ?? []).map(({ function: it }) => it?.name),
    steps: said.map((it) => it?.reasoningContent ?? it?.content),
    finishReason: messages.at(-1)?.choices[0]?.finishReason,
    reasoningTokens: messages.at(-1)?.usage?.reasoningTokens,
    completionTokens: messages.at(-1)?.usage?.completionTokens,
    warnings: messages.at(-1)?.warnings,
    read,
  };
}

/** A call of a tool as these models write it. */
export const stopCall = '<tool_call>{"name": "stop", "arguments": {}}</tool_call>';
