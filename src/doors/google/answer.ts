/** Answers of the Gemini API: whole, and what stands in streams of them. */
import type {
  ContentPart,
  LLMMessage,
  LLMResponse,
  LLMTokenUsage,
  Logprobs,
  ToolCall,
} from "../../../gen/lintel/v1/chat_pb.js";
import { inlineImage } from "../../core/image-urls.js";
import { toJsonString } from "../../core/json-string.js";
import { argumentsText } from "../../core/tool-calls.js";
import { extras } from "../json/chat.js";
import { Likelihood, logprobsText } from "./logprobs.js";
import { callSignatureOf, signaturesOf } from "./signature.js";

/** Why a candidate ended, by the contract's reasons; a call is no reason of its own. */
const finishReasons: Readonly<Record<string, string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
};

/** Why a candidate ended. */
export const finishReasonOf = (reason: string): string => finishReasons[reason] ?? "STOP";

/** What stands around the parts of the one candidate, up to these, and behind them. */
export const candidateHead = '"candidates":[{"content":{"role":"model","parts":[';
/** @param reason absent while it goes on @param beside what is told besides, as it follows other members */
export const candidateTail = (reason?: string, beside = ""): string =>
  `]}${reason === undefined ? "" : `,"finishReason":"${reason}"`}${beside},"index":0}]`;

/** What says which answer it is, as it follows other members. */
export const answerStamp = ({ id, model }: Pick<LLMResponse, "id" | "model">): string =>
  `,"modelVersion":${toJsonString(model)},"responseId":${toJsonString(id)}`;

/** A whole answer as JSON text. */
export function wholeGenerated(response: LLMResponse, warnings: readonly string[]): string {
  const { choices, usage, usageEstimated } = response;
  const { message, finishReason = "stop", logprobs } = choices[0] ?? {};
  const parts = message ? partsOf(message).join(",") : "";
  const tokens = logprobs ? tokensText(logprobs) : "";
  const candidate = candidateHead + parts + candidateTail(finishReasonOf(finishReason), tokens);
  return `{${candidate},"usageMetadata":${usageText(usage)}${answerStamp(response)}${extras(usageEstimated, warnings)}}`;
}

function tokensText({ content }: Logprobs): string {
  const likelihood = new Likelihood();
  likelihood.add(content);
  return likelihood.text() + logprobsText(content);
}

function partsOf(message: LLMMessage): string[] {
  const { content, toolCalls, images, reasoningContent = "" } = message;
  const parts: string[] = [];
  const signatures = signaturesOf(message, toolCalls);
  if (reasoningContent !== "" || signatures.thoughts !== "") {
    parts.push(thoughtPart(reasoningContent, signatures.thoughts));
  }
  const others = parts.length + images.length + toolCalls.length;
  if (content !== "" || others === 0) parts.push(textPart(content));
  return [...parts, ...images.map(imagePart), ...callParts(toolCalls, signatures.call)];
}

/** A picture, as a part: one at an address as a file there. */
export function imagePart({ imageUrl, extraContent = "" }: ContentPart): string {
  const url = imageUrl?.url ?? "";
  const image = inlineImage(url);
  const signed = signatureText(callSignatureOf(extraContent));
  return image
    ? `{"inlineData":{"mimeType":${toJsonString(image.mediaType)},"data":${toJsonString(url.slice(image.start))}}${signed}}`
    : `{"fileData":{"fileUri":${toJsonString(url)}}${signed}}`;
}

/** @param signature absent: none */
const signatureText = (signature: string | undefined): string =>
  signature === undefined ? "" : `,"thoughtSignature":${toJsonString(signature)}`;

/** A text, as a part. */
export const textPart = (text: string): string => `{"text":${toJsonString(text)}}`;

/** Thoughts, as a part. @param signature empty: none */
export const thoughtPart = (text: string, signature: string): string =>
  `{"text":${toJsonString(text)},"thought":true${signatureText(signature || undefined)}}`;

/** Calls of functions, as parts. @param signature of the first one; empty: its own, if it has one */
export const callParts = (calls: readonly ToolCall[], signature: string): string[] =>
  calls.map((call, i) => callPart(call, i === 0 ? signature : ""));

function callPart(call: ToolCall, signature: string): string {
  const { id, function: called, extraContent } = call;
  const signed = signatureText(signature || callSignatureOf(extraContent));
  return `{"functionCall":{"id":${toJsonString(id)},"name":${toJsonString(called?.name ?? "")},"args":${argumentsText(call)}}${signed}}`;
}

/** Counts of tokens: those of thoughts are none of the candidate's. */
export function usageText(usage: LLMTokenUsage | undefined): string {
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0 } = usage ?? {};
  const { cachedTokens, reasoningTokens } = usage ?? {};
  const cached = cachedTokens === undefined ? "" : `,"cachedContentTokenCount":${cachedTokens}`;
  const thoughts = reasoningTokens === undefined ? "" : `,"thoughtsTokenCount":${reasoningTokens}`;
  return `{"promptTokenCount":${promptTokens},"candidatesTokenCount":${completionTokens - (reasoningTokens ?? 0)},"totalTokenCount":${totalTokens}${cached}${thoughts}}`;
}
