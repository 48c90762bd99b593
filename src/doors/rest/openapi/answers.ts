/** What answers of REST look like, as JSON Schema. Where members have a field in the contract, its comment describes them. */
import type { DescMessage } from "@bufbuild/protobuf";
import { finishReasons } from "../../../core/completion/reasons.js";
import { leastLogprob } from "../../../core/logprobs.js";
import { accountSchemas, tokenSchemas } from "./account-answers.js";
import { type Contract, commentOf, fieldOf, fieldsOf } from "./contract.js";
import { errorSchemas } from "./errors.js";
import {
  anyObject,
  count,
  flag,
  list,
  object,
  type Part,
  refer,
  said,
  text,
  uri,
} from "./schema.js";

/** All of them, by their names. */
export const answerSchemas = (contract: Contract): Record<string, Part> => ({
  ...chatSchemas(contract),
  ...imageSchemas(contract),
  ...accountSchemas(contract),
  ...tokenSchemas(contract),
  ...errorSchemas(),
  Models: object("The models that the token may use.", {
    object: { const: "list" },
    data: said("Those of chat and of images.", list(refer("Model"))),
  }),
  Model: object("A model.", {
    id: said("Its name, as requests have it in `model` or `model_id`.", text),
    object: { const: "model" },
    created: said("When it was made, Unix seconds; 0: nobody says.", count),
    owned_by: text,
    "architecture?": said(
      "What prompts and answers may have, where known.",
      object("As OpenRouter has it.", {
        modality: said("Both in a word: `text+image->text`.", text),
        input_modalities: said("`text`, `image`, `file`, `audio`.", list(text)),
        output_modalities: said("`text`, `image`.", list(text)),
      }),
    ),
    "context_length?": said("Most tokens of a conversation with its answer, where known.", count),
    "max_model_len?": said("The same, as other clients look for it.", count),
    "max_completion_tokens?": said("Most tokens of an answer, where known.", count),
  }),
  Health: object("The state of the process.", { status: text, "reason?": text }),
});

function chatSchemas(contract: Contract): Record<string, Part> {
  const response = fieldsOf(contract.message("LLMResponse"));
  const choice = fieldsOf(contract.message("LLMChoice"));
  const message = fieldsOf(contract.message("LLMMessage"));
  const call = fieldsOf(contract.message("ToolCall"));
  const called = fieldsOf(contract.message("FunctionCall"));
  const usage = fieldsOf(contract.message("LLMTokenUsage"));
  const token = fieldsOf(contract.message("TokenLogprob"));
  const stamp = (kind: string) => ({
    id: response("id", text),
    object: { const: kind },
    created: response("created", count),
    model: response("model", text),
  });
  const extras = {
    "usage_estimated?": response("usage_estimated", flag),
    "warnings?": response("warnings", list(text, { minItems: 1 })),
  };
  const index = choice("index", { const: 0 });
  const functions = (name: string) => ({
    [name]: called("name", text),
    arguments: called("arguments", text),
  });
  const thoughts = {
    "reasoning_content?": message("reasoning_content", text),
    "reasoning_details?": message("reasoning_details", list(anyObject)),
  };
  const part = fieldsOf(contract.message("ContentPart"));
  const image = fieldsOf(contract.message("ImageUrl"));
  const images = {
    "images?": message("images", list(refer("DrawnImage"), { minItems: 1 })),
  };
  const role: Part = { const: "assistant" };
  const extra = { "extra_content?": call("extra_content", anyObject) };
  return {
    Completion: object(commentOf(contract.message("LLMResponse")), {
      ...stamp("chat.completion"),
      choices: response("choices", list(refer("CompletionChoice"), { minItems: 1, maxItems: 1 })),
      usage: refer("Usage"),
      ...extras,
    }),
    CompletionChoice: object(commentOf(contract.message("LLMChoice")), {
      index,
      message: refer("CompletionMessage"),
      finish_reason: choice("finish_reason", { enum: finishReasons }),
      "stop_sequence?": choice("stop_sequence", text),
      "logprobs?": choice("logprobs", refer("Logprobs")),
    }),
    Logprobs: object(commentOf(contract.message("Logprobs")), {
      content: fieldsOf(contract.message("Logprobs"))(
        "content",
        list(refer("TokenLogprob"), { minItems: 1 }),
      ),
      refusal: said("Always null: what a model refuses with is content here.", { type: "null" }),
    }),
    TokenLogprob: object(commentOf(contract.message("TokenLogprob")), {
      ...tokenMembers(contract.message("TokenLogprob")),
      top_logprobs: token("top_logprobs", list(refer("TopLogprob"))),
    }),
    TopLogprob: object(
      commentOf(contract.message("TopLogprob")),
      tokenMembers(contract.message("TopLogprob")),
    ),
    CompletionMessage: object("The answer, to be handed back as a message of the conversation.", {
      role,
      content: message("content", text),
      ...thoughts,
      ...images,
      "tool_calls?": message("tool_calls", list(refer("CompletionCall"), { minItems: 1 })),
    }),
    DrawnImage: object("A picture that the model drew.", {
      index: said("Which of the answer's pictures it is, from 0.", count),
      type: { const: "image_url" },
      image_url: object(commentOf(contract.message("ImageUrl")), { url: image("url", uri) }),
      "extra_content?": part("extra_content", anyObject),
    }),
    CompletionCall: object("A call of a tool, for the caller to run.", {
      id: call("id", text),
      type: { const: "function" },
      function: object("What is called.", functions("name")),
      ...extra,
    }),
    CompletionChunk: object("One event of a streamed completion.", {
      ...stamp("chat.completion.chunk"),
      choices: response("choices", list(refer("ChunkChoice"), { maxItems: 1 })),
      usage: said("With `include_usage` null, but in the last chunk.", {
        anyOf: [refer("Usage"), { type: "null" }],
      }),
      ...extras,
      "error?": said(
        "Why the answer failed; `finish_reason` is `error` then.",
        refer("ErrorObject"),
      ),
    }),
    ChunkChoice: object("What a chunk adds.", {
      index,
      delta: object(commentOf(fieldOf(contract.message("LLMChoice"), "delta")), {
        role,
        content: message("content", text),
        ...thoughts,
        ...images,
        "tool_calls?": message("tool_calls", list(refer("ChunkCall"), { minItems: 1 })),
      }),
      finish_reason: choice("finish_reason", { enum: [...finishReasons, "error", null] }),
      "stop_sequence?": choice("stop_sequence", text),
      "logprobs?": choice("logprobs", refer("Logprobs")),
    }),
    ChunkCall: object("A piece of a call: those with one `index` are one call.", {
      index: call("index", count),
      "id?": call("id", text),
      "type?": { const: "function" },
      function: object("What is called.", functions("name?")),
      ...extra,
    }),
    Usage: object(commentOf(contract.message("LLMTokenUsage")), {
      prompt_tokens: said("Tokens of the prompt.", count),
      completion_tokens: said("Tokens of the answer, thoughts included.", count),
      total_tokens: said("Both together.", count),
      "prompt_tokens_details?": object("More about the prompt.", {
        "cached_tokens?": usage("cached_tokens", count),
        "cache_write_tokens?": usage("cache_write_tokens", count),
        "cache_write_1h_tokens?": usage("cache_write_1h_tokens", count),
      }),
      "completion_tokens_details?": object("More about the answer.", {
        reasoning_tokens: usage("reasoning_tokens", count),
      }),
    }),
  };
}

/** A token, and how likely it was. */
function tokenMembers(message: DescMessage): Record<string, Part> {
  const token = fieldsOf(message);
  return {
    token: token("token", text),
    logprob: token("logprob", { type: "number", minimum: leastLogprob, maximum: 0 }),
    bytes: said("The bytes of its text in UTF-8; null where the model server does not tell.", {
      anyOf: [list({ ...count, maximum: 255 }), { type: "null" }],
    }),
  };
}

function imageSchemas(contract: Contract): Record<string, Part> {
  const media = contract.message("Media");
  const medium = fieldsOf(media);
  const progress = fieldsOf(contract.message("Progress"));
  const ready = fieldsOf(contract.message("ImageReady"));
  const response = fieldsOf(contract.message("TextToImageResponse"));
  const images = response("images", list(refer("Image"), { minItems: 1 }));
  const warnings = { "warnings?": response("warnings", list(text, { minItems: 1 })) };
  const events = ["ImageProgress", "ImageReady", "ImagesDone", "ImagesFailed"];
  return {
    Image: object(commentOf(media), {
      url: medium("url", uri),
      seed: medium("seed", { ...count, maximum: 2 ** 32 - 1 }),
      nsfw: medium("nsfw", flag),
      "revised_prompt?": medium("revised_prompt", text),
    }),
    Images: object(commentOf(contract.message("TextToImageResponse")), { images, ...warnings }),
    ImageEvent: {
      description: commentOf(contract.message("StreamTextToImageResponse")),
      oneOf: events.map(refer),
    },
    ImageProgress: object(commentOf(contract.message("Progress")), {
      type: { const: "progress" },
      index: progress("index", count),
      images: progress("images", { ...count, minimum: 1 }),
      step: progress("step", count),
      steps: progress("steps", count),
      percent: progress("percent", { ...count, maximum: 100 }),
      "queue_position?": progress("queue_position", count),
      "preview?": said(
        "A small picture of the state, a `data:` URL; only where `include_previews` asked for it.",
        uri,
      ),
    }),
    ImageReady: object(commentOf(contract.message("ImageReady")), {
      type: { const: "image" },
      index: ready("index", count),
      image: refer("Image"),
    }),
    ImagesDone: object("All images are ready: they again, all together.", {
      type: { const: "done" },
      images,
      ...warnings,
    }),
    ImagesFailed: object("The images can't be made, in place of `done`.", {
      type: { const: "error" },
      error: refer("ErrorObject"),
      detail: refer("ErrorDetail"),
    }),
  };
}
