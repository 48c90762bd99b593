/** The chat template that stands in a GGUF file. */
import type { LlamaModel } from "node-llama-cpp";
import { boundedTemplate } from "./bounded.js";
import { channelTokens } from "./channels.js";
import type { LlamaLibrary } from "./library.js";
import { ChatTemplate, chatML, looksFor } from "./template.js";

/**
 * The template of a model's file, what ends its answers besides tokens, and the channels that it has.
 * @throws Error if the file's template can't be parsed or does not work
 */
export function chatTemplateOf({ jinja }: LlamaLibrary, model: LlamaModel) {
  const { tokenizer } = model.fileInfo.metadata;
  const own = tokenizer?.chat_template;
  const source = own || chatML;
  const texts = {
    bos: model.tokens.bosString ?? "",
    eos: model.tokens.eosString ?? "",
    ...controlTexts(model, tokenizer?.ggml?.tokens ?? [], source),
  };
  try {
    const template = new ChatTemplate(boundedTemplate(jinja, source), texts);
    const channels = channelTokens(source, (text) => model.tokenize(text, true));
    return { template, stops: own ? [] : ["<|im_end|>"], channels };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.slice(0, 200) : "unknown reason";
    throw new Error(`its chat template does not work: ${why}`, { cause });
  }
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
