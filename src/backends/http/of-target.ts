/** In which words servers tell of their own key, account or model, where their status tells of the request. */
import type { JsonObject } from "../../core/json.js";
import { errorsIn } from "./error-body.js";
import { string } from "./json.js";

/**
 * What a 400 tells that no request can help: of the key (xAI, Google), of the account
 * (Anthropic, Google, Groq, LiteLLM), of the model's name (DeepSeek, OpenRouter, Mistral, Bedrock, MiniMax,
 * SiliconFlow, Z.ai), or that it is not there any more (LM Studio);
 * or of its address (Lintel).
 * Said at the beginning and before any quotes: elsewhere may stand what the caller wrote, who
 * could take a target out by it.
 */
const ofTarget =
  /^[^"'`\n]{0,100}(?:\b(?:incorrect|invalid) api key\b|\bapi key (?:not (?:valid|found)|expired)|credit balance is too low|user location is not supported|organization has been (?:disabled|restricted)|reached your specified api usage limits|\bbudget has been exceeded!|\bmodel not exist\b|is not a valid model id\b|model identifier is invalid)|^invalid model: |^invalid params, unknown model\b|^model does not exist\b|^unknown model, please check\b|^模型不存在|^model (?:is )?unloaded\.?$|^this address speaks TLS: ask it by https:/i;

/** llama.cpp's router of the model, in whole messages: what is quoted is the name that we gave it. */
const ofRouter = /^model (?:(?:'[^'\n]*' )?not found|is not loaded|name=\S+ is not running)$/;

/** LiteLLM's of the model. */
const ofLiteLlm =
  /^(?:\{'error': ['"])?(?:\/[\w/]{1,60}: )?invalid model name passed in\b|^(?:litellm\.BadRequestError: )?you passed in model=\S{1,200} there are no healthy deployments\b/i;

/** NVIDIA's of a model that does not run now. */
const ofNvidia = /^Function id '[\da-f-]{36}': DEGRADED function cannot be invoked$/;

/** Ollama's of one that only makes embeddings, in whole messages: what is quoted is the name that we gave it. */
const ofOllama = /^"[^"\n]{1,512}" does not support chat$/;

/**
 * What a 429 is called, or a 400, that no waiting helps, for the account has nothing left to spend:
 * by OpenAI, Moonshot and LiteLLM. Google has the same words for limits per minute.
 */
const spent =
  /^(?:insufficient_quota|exceeded_current_quota_error|billing_(?:hard_limit_reached|not_active)|budget_exceeded)$/i;

/** The same in the words of those who call it nothing that tells: Z.ai, also in Chinese, Google, xAI, Ollama's cloud, Cloudflare. */
const spentInWords: readonly RegExp[] = [
  /^(?:insufficient balance\b|余额不足)/i,
  /^your (?:prepayment credits are depleted|project has exceeded its monthly spending cap)\b/i,
  /^your team \S{1,80} has either used all available credits\b/i,
  /^you (?:\([^)\n]{1,80}\) )?have reached your \w+ usage limit\b/i,
  /^(?:AiError: )?(?:\d{4}: )?you have used up your daily free allocation\b/i,
];

/** What servers on Go, nginx and Apache answer in the clear where TLS is spoken: all of it, since others quote callers. */
const overTls =
  /^(?:Client sent an HTTP request to an HTTPS server\.\s*$|<html>\s*<head><title>400 The plain HTTP request was sent to HTTPS port<|<!DOCTYPE [\s\S]{0,400}?Reason: You're speaking plain HTTP to an SSL-enabled server port\b)/i;

/** Whether a body says, with the status for bad requests, that the server's address should begin with https://. */
export const isOverTls = (status: number, body: string): boolean =>
  status === 400 && overTls.test(body);

/**
 * What a 500 tells of a model that could not be loaded, so that nothing was done: llama.cpp's router
 * and Ollama, which runs models in a process of their own, a llama runner formerly.
 */
const notLoaded =
  /^(?:model name=\S+ failed to load$|model failed to load, this may be due to\b|unable to load model: |model requires (?:more system memory\b|[\d.]+ \w+ but only\b)|llama(?: runner|-server) process (?:has terminated|no longer running)\b|timed out waiting for llama(?: runner|-server)\b|llama-server reported out-of-memory during startup\b|mlx runner (?:exited unexpectedly\b|failed: .* \(exit: )|timeout waiting for mlx runner\b)/;

/**
 * Codes of a 400 about the model: of Groq, Together AI, Hugging Face's router, GitHub, Azure where it
 * is not for chats, and LM Studio where it can't load one. Alibaba's and one of Groq's are about the account.
 */
const ofModel =
  /^(?:arrearage|organization_restricted|model_(?:decommissioned|not_(?:found|available|supported)\w*)|(?:unknown|unavailable)_model|dedicated_endpoint_not_running|OperationNotSupported)$/i;

/**
 * Whether what a server says with a status for bad requests is about its own key, account or model,
 * with one for limits that its account is spent, or with one of its own failure that it has no
 * model to do it with.
 * @param said its message
 */
export function isOfTarget(status: number, body: unknown, said: string): boolean {
  if (status === 500) return notLoaded.test(said);
  if (status !== 400 && status !== 429) return false;
  const errors = errorsIn(body);
  const isSpent = ({ code, type }: JsonObject) =>
    spent.test(string(code)) || spent.test(string(type));
  if (spentInWords.some((words) => words.test(said)) || errors.some(isSpent)) return true;
  if (status === 429) return false;
  return (
    [ofTarget, ofRouter, ofLiteLlm, ofNvidia, ofOllama].some((words) => words.test(said)) ||
    errors.some(({ code }) => ofModel.test(string(code)))
  );
}

/**
 * Whether LM Studio says, with the status for bad requests, or Ollama that its model did not survive one: it is
 * not to end those of others, too.
 */
export const hasCrashed = (status: number, said: string): boolean =>
  (status === 400 && /^the model has crashed\b/i.test(said)) ||
  (status === 500 &&
    /\bmodel runner has unexpectedly stopped\b|^error reading llama.server chat response\b/i.test(
      said,
    ));
