/** Whole answers that a provider has no form for, and that are completions all the same. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { parseJson } from "../../core/json.js";
import { collectCompletion } from "../completions/collected.js";
import { refusalIn } from "./failure.js";

/**
 * What a provider makes of a whole answer, or the completion that it could not read: Gemini's
 * without a message, or one that a proxy has streamed.
 */
export async function unlessUnread<T>(answer: PromiseLike<T>): Promise<Awaited<T> | LLMResponse> {
  try {
    return await answer;
  } catch (thrown) {
    const { status, body } = refusalIn(thrown);
    if (status < 200 || status >= 300 || body === "") throw thrown;
    try {
      return collectCompletion(body);
    } catch (failure) {
      // What is reported in JSON is found in what the provider threw.
      throw parseJson(body) === undefined ? failure : thrown;
    }
  }
}
