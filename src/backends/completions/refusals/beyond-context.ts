/** Limits of an answer's length that are more than a conversation leaves of its model's context. */

/**
 * Stands among what a server refused for such a limit: without it, it ends the answer where the context does, which is
 * earlier. Of the next conversation it says nothing.
 */
export const beyondContext = "max_tokens beyond the context";

/**
 * In the words of vLLM (those of 2023, 2025 and 2026), SGLang, OpenRouter and Text Generation Inference. That the
 * conversation alone is too long some say in the same.
 */
export const refusesBeyondContext =
  /\d (?:tokens )?(?:in|for) the (?:completion|output)\b|is too large: \d+\. this model's maximum context length|requested \d+ output tokens|`inputs` tokens \+ `max_new_tokens` must be/i;
