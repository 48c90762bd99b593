/** Grammars as llama.cpp reads them. */
import { getLlama, type Llama, type LlamaGrammar } from "node-llama-cpp";
import type { LLMRequest, Tool } from "../../gen/lintel/v1/chat_pb.js";
import { Gbnf } from "../../src/backends/gbnf/gbnf.js";
import type { ToolForm } from "../../src/backends/llama/tools/form.js";
import { callsIn } from "../../src/backends/llama/tools/grammar.js";
import { chatRequest } from "./llama-subject.js";

let llama: Promise<Llama> | undefined;

/** Makes a grammar of its text. */
export async function grammarOf(grammar: string): Promise<LlamaGrammar> {
  llama ??= getLlama({ gpu: false, build: "never", progressLogs: false });
  return (await llama).createGrammar({ grammar });
}

/** The grammar of calls of tools in a form. */
export async function grammarOfCalls(
  form: ToolForm,
  tools: Tool[],
  more: Partial<LLMRequest> = {},
): Promise<LlamaGrammar> {
  const grammar = new Gbnf();
  return grammarOf(grammar.text(callsIn(chatRequest("", { tools, ...more }), form, grammar)));
}

/** Whether a text is all that a grammar lets through. */
export const fits = (grammar: LlamaGrammar, text: string): boolean =>
  (grammar as unknown as { _testText(text: string): boolean })._testText(text);
