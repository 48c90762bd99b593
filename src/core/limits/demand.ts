/** What a call may take at most, known before it runs. */
import type { Call } from "../call.js";
import { chatDefaults } from "../defaults.js";
import { estimatePrompt } from "../estimate.js";
import { imagesAsked } from "../images.js";
import type { Amounts } from "./prices.js";

/**
 * The estimate for a call whose model is known: the prompt by its length, the
 * completion by the most that was asked for, images as they were asked for.
 * @param mostPrompts how many prompts an image request may have
 * @throws LintelError for an image request whose prompts can't be read
 */
export function demandOf(call: Call, mostPrompts: number): Required<Amounts> {
  switch (call.method) {
    case "chat":
    case "complete": {
      const chat = call as Call<"chat">;
      return {
        promptTokens: estimatePrompt(chat.request),
        completionTokens: completionCap(chat),
        images: 0,
      };
    }
    case "textToImage":
    case "streamTextToImage": {
      const images = imagesAsked(call as unknown as Call<"textToImage">, mostPrompts);
      return { promptTokens: 0, completionTokens: 0, images };
    }
    default:
      return { promptTokens: 0, completionTokens: 0, images: 0 };
  }
}

function completionCap({ request, modelSettings, targets }: Call<"chat">): number {
  const model = targets?.[0]?.model;
  const asked =
    request.maxTokens ??
    modelSettings?.defaults?.max_tokens ??
    model?.defaults.max_tokens ??
    chatDefaults.maxTokens;
  const cap = modelSettings?.maxTokens ?? model?.maxTokens ?? 0;
  return cap > 0 ? Math.min(asked, cap) : asked;
}
