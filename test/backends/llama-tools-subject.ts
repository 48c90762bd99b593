/** Models with templates for tools, and what is asked of them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { LLMRequest, LLMResponse, Tool } from "../../gen/lintel/v1/chat_pb.js";
import { loadModel } from "../../src/backends/llama/load.js";
import type { Backend } from "../../src/core/backend.js";
import { silent } from "../../src/core/log.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { never } from "../support/calls.js";
import { say as messageOf } from "../support/messages.js";
import { functionTool } from "../support/tools.js";
import { backendFor, chatRequest, say, start, tinyWith } from "./llama-subject.js";
import { templates, words } from "./llama-tool-templates.js";

/** A folder that is there until the test is over. */
export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "lintel-test-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** The path of a model with a template, and with the tokens that it wants where it is one of ours. */
export async function fileWith(name: string, template: string): Promise<string> {
  const path = join(await folder(), `${name}.gguf`);
  const others = words[name as keyof typeof templates];
  await writeFile(path, await tinyWith(template, others));
  return path;
}

/** The model with one of the templates. */
export async function loaded(name: keyof typeof templates) {
  const path = await fileWith(name, templates[name]);
  const settings = { path, sequences: 1, gpu: false, contextSize: 4096 } as const;
  const model = await loadModel(settings, { log: silent, signal: never });
  onTestFinished(() => model.close());
  return model;
}

/** A backend with the model, once it is loaded. */
export async function backendWith(name: string, template: string): Promise<Backend> {
  const backend = backendFor(await fileWith(name, template), { context_size: 4096 });
  onTestFinished(() => backend.close());
  await backend.ready?.("", never);
  return backend;
}

/** A tool of a name. */
export function tool(name: string, parameters: object | string, strict?: boolean): Tool {
  return functionTool(name, parameters, { description: `To ${name}.`, strict });
}

/** Parameters that a grammar can hold a model to. */
export const place = {
  type: "object",
  properties: {
    city: { enum: ["Rome", "Oslo"] },
    days: { type: "integer", minimum: 1, maximum: 7 },
  },
  required: ["city", "days"],
  additionalProperties: false,
};

/** What is offered. */
export const tools = [tool("weather", place), tool("stop", "")];

/** A choice among them. */
export const choice = (type: string, name?: string): Pick<LLMRequest, "toolChoice"> => ({
  toolChoice: {
    $typeName: "lintel.v1.ToolChoice",
    type,
    ...(name && { function: { $typeName: "lintel.v1.FunctionName", name } }),
  },
});

/** A conversation in which a tool was called. */
export const conversation = [
  say("How is it?"),
  messageOf("assistant", "", {
    toolCalls: [toolCall(0, "call_abcdefghijklmnop", "weather", '{"city":"Oslo","days":2}')],
  }),
  messageOf("tool", '{"sky": "blue"}', { toolCallId: "call_abcdefghijklmnop" }),
];

/** What the backend answers, and how. */
export async function ask(backend: Backend, more: Partial<LLMRequest>) {
  const messages: LLMResponse[] = [];
  const request = chatRequest("hello", { maxTokens: 900, tools, ...more });
  const source = { [Symbol.asyncIterator]: () => start(backend, request) };
  for await (const batch of source) messages.push(...batch);
  const said = messages.map(({ choices }) => choices[0]?.delta);
  return {
    text: said.map((it) => it?.content ?? "").join(""),
    calls: said.flatMap((it) => it?.toolCalls ?? []),
    finishReason: messages.at(-1)?.choices[0]?.finishReason,
    warnings: messages.at(-1)?.warnings,
    tokens: messages.at(-1)?.usage?.promptTokens ?? 0,
  };
}
