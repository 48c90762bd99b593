/** Token counts where a model server reports none, or none yet. */
import type { ContentPart, LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { textLength } from "./files.js";

/**
 * About how many tokens a text has: one for every four bytes of UTF-8, which is
 * near for English with the usual vocabularies and errs upwards elsewhere.
 * @param bytes length of the text in UTF-8
 * @returns 0 for an empty text, otherwise at least 1
 */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/**
 * Of what a prompt has besides text: of an image what OpenAI counts for one of 1024x1024 pixels, of
 * a file a page as Anthropic counts it at most, of a sound one of some 50 seconds, as OpenAI does.
 */
export const partTokens: Readonly<Record<string, number>> = {
  image_url: 765,
  file: 3000,
  input_audio: 500,
};

/**
 * About how many tokens a prompt has. A message costs a few besides its text:
 * the template's marks of role and end.
 */
export function estimatePrompt(request: LLMRequest): number {
  let sum = 0;
  for (const { content, toolCalls, parts, images, reasoningContent } of request.messages) {
    sum += estimateTokens(Buffer.byteLength(content)) + 4;
    if (reasoningContent) sum += tokensOf(reasoningContent);
    for (const part of parts) sum += tokensOfPart(part);
    for (const image of images) sum += tokensOfPart(image);
    for (const { function: called } of toolCalls) {
      sum += tokensOf(called?.name, called?.arguments) + 4;
    }
  }
  for (const { function: tool } of request.tools) {
    sum += tokensOf(tool?.name, tool?.description, tool?.parameters) + 4;
  }
  return sum + tokensOf(request.responseFormat?.jsonSchema?.schema);
}

function tokensOfPart(part: ContentPart): number {
  if (part.type === "text") return tokensOf(part.text);
  const bytes = textLength(part);
  return bytes === undefined ? (partTokens[part.type] ?? 0) : estimateTokens(bytes);
}

const tokensOf = (...texts: readonly (string | undefined)[]): number =>
  texts.reduce((sum, text = "") => sum + estimateTokens(Buffer.byteLength(text)), 0);
