/** The chat template of a GGUF file: the one that stands in it, or the operator's. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { messageOf } from "../../core/chat-messages.js";
import { boundedTemplate, type Rendering } from "./bounded.js";
import { channelTokens } from "./channels.js";
import { effortsOf } from "./effort.js";
import type { LlamaLibrary } from "./library.js";
import { sectionsOf, textsOf as textsOfSections } from "./sections.js";
import { ChatTemplate, chatML, looksFor } from "./template.js";
import { whyNot } from "./template-lines.js";
import { textsOf as textsOfMarks, thoughtMarksOf } from "./thoughts.js";
import { toolFormOf } from "./tools/families.js";
import { type ToolForm, textsOf } from "./tools/form.js";
import { isTold } from "./tools/telling.js";

/** How a model is spoken to, and how it answers. */
export type Speech = ReturnType<typeof chatTemplateOf>;

/**
 * The template of a model's file, what ends its answers besides tokens, and the channels or the marks of
 * thoughts that it has.
 * @param given the operator's, instead of all that the file has; absent: the file's
 * @throws Error if the template can't be parsed or does not work, with its line where that is known
 */
export function chatTemplateOf({ jinja }: LlamaLibrary, model: LlamaModel, given?: string) {
  const { tokenizer } = model.fileInfo.metadata;
  const own = given ?? tokenizer?.chat_template;
  const source = own || chatML;
  const forTools = given === undefined ? templateForTools(tokenizer) : "";
  const all = source + forTools;
  const texts = {
    bos: model.tokens.bosString ?? "",
    eos: model.tokens.eosString ?? "",
    ...controlTexts(model, tokenizer?.ggml?.tokens ?? [], all),
  };
  let rendering: Rendering | undefined;
  try {
    const tokenize = (text: string) => model.tokenize(text, true);
    const channels = channelTokens(source, tokenize);
    const sections = channels ? undefined : sectionsOf(source);
    const thoughts = channels || sections ? undefined : thoughtMarksOf(all);
    const made = (text: string): Made => {
      const form = toolFormOf(text);
      const known = form?.call.as === "channel" && !channels ? undefined : form;
      const efforts = effortsOf(text);
      const bounded = boundedTemplate(jinja, text);
      rendering = bounded;
      const template = new ChatTemplate(bounded, { ...texts, tools: known, thoughts, efforts });
      return { template, tools: known && tells(template) ? known : undefined };
    };
    const { template, tools } = withTools(made(source), () => made(forTools));
    return {
      template,
      stops: own ? [] : ["<|im_end|>"],
      channels,
      sections: sections && { of: sections, tokens: controlIn(textsOfSections(sections), model) },
      thoughts: thoughts && {
        marks: thoughts,
        tokens: controlIn(textsOfMarks(thoughts), model),
        end: tokenOf(thoughts.close, model),
      },
      hasEffort: channels !== undefined || changesByEffort(template),
      tools,
      marks: tools ? controlIn(textsOf(tools), model) : noMarks,
    };
  } catch (cause) {
    const whose = given === undefined ? "its chat template" : "chat_template";
    throw new Error(`${whose} does not work: ${whyNot(cause, rendering)}`, { cause });
  }
}

/** A template, and the form in which it tells the model of tools; absent: it does not. */
interface Made {
  readonly template: Renders;
  readonly tools: ToolForm | undefined;
}

/** What makes prompts. */
type Renders = Pick<ChatTemplate, "render">;

/** The template that a file has besides, for conversations with tools; empty: none. */
function templateForTools(tokenizer: object | undefined): string {
  const { "chat_template.tool_use": template } = (tokenizer ?? {}) as Record<string, unknown>;
  return typeof template === "string" ? template : "";
}

/** With the other template where tools may be called, or were. @param other throws where there is none */
function withTools(plain: Made, other: () => Made): Made {
  try {
    const { template, tools } = other();
    if (!tools) return plain;
    const render: Renders["render"] = (messages, asked) => {
      const isCalled = messages.some(({ toolCalls }) => toolCalls.length > 0);
      const chosen = isCalled || asked?.tools?.length ? template : plain.template;
      return chosen.render(messages, asked);
    };
    return { template: { render }, tools };
  } catch {
    // Without it, too, the model answers.
    return plain;
  }
}

const noMarks: ReadonlyMap<Token, string> = new Map();

/** Whether a template tells the model of a tool. */
const tells = (template: Renders): boolean =>
  isTold((tools) => template.render([hello], { tools }).join(""));

/** Whether a template's prompt is another where the model shall think, and where it shall not. */
function changesByEffort(template: Renders): boolean {
  const prompt = (effort: string) => template.render([hello], { effort }).join("");
  try {
    return prompt("none") !== prompt("high");
  } catch {
    return false;
  }
}

const hello = messageOf("user", "Hello");

/** The control tokens that stand in texts, which else are no text of an answer. */
function controlIn(texts: readonly string[], model: LlamaModel): ReadonlyMap<Token, string> {
  const marks = new Map<Token, string>();
  for (const text of texts) {
    const tokens = model.tokenize(text, true);
    for (const token of tokens) {
      const written = tokens.length === 1 ? text : model.detokenize([token], true);
      const isPart = written !== "" && text.includes(written);
      if (isPart && model.detokenize([token]) === "") marks.set(token, written);
    }
  }
  return marks;
}

/** The token of a text that is one, also of one that is no control token: Qwen's, DeepSeek's and GLM's `</think>` is none. */
function tokenOf(text: string, model: LlamaModel): Token | undefined {
  const [token, ...more] = model.tokenize(text, true);
  return more.length === 0 ? token : undefined;
}

/** Texts of the tokens that have a meaning besides their text, and which of them the template looks for. */
function controlTexts(model: LlamaModel, vocabulary: readonly string[], template: string) {
  const control: string[] = [];
  const sought: string[] = [];
  for (const token of model.iterateAllTokens()) {
    const text = vocabulary[token];
    if (!text) continue;
    const kind = model.getTokenAttributes(token);
    const special = kind.control || kind.unknown || model.isEogToken(token);
    // Some files declare their role marks as the users' own words.
    const mark = kind.userDefined && text.trim() !== "" && template.includes(text);
    if (special || mark) control.push(text);
    if (mark && !special && looksFor(template, text)) sought.push(text);
  }
  return { control, sought };
}
