/**
 * Gives completions their contract's shape, whatever a backend sent: one id, one
 * name, one choice, a last message that says why it ended, and token counts.
 */
import type { LLMResponse, LLMTokenUsage } from "../../gen/lintel/v1/chat_pb.js";
import { cutShort } from "./adapt.js";
import type { Call, Handle, Middleware } from "./call.js";
import { estimatePrompt, estimateTokens } from "./estimate.js";
import { randomId } from "./random-id.js";

/** Shapes the messages of `chat` and `complete`; other methods pass. */
export const completion: Middleware = (next) => (call) => {
  if (call.method === "chat") return stream(call as Call<"chat">, next as Handle<"chat">);
  if (call.method === "complete")
    return whole(call as Call<"complete">, next as Handle<"complete">);
  return next(call);
};

/** Reasons that callers may see; whatever else a model server says becomes `stop`. */
const finishReasons = new Set(["stop", "length", "content_filter", "tool_calls"]);
const finishReasonOf = (said: string) => (finishReasons.has(said) ? said : "stop");

async function* whole(
  call: Call<"complete">,
  next: Handle<"complete">,
): AsyncGenerator<readonly LLMResponse[]> {
  for await (const batch of next(call)) {
    for (const message of batch) {
      const choice = message.choices[0];
      if (!choice) throw cutShort();
      const content = choice.message?.content ?? "";
      const { usage, estimated } = settle(call, message.usage, Buffer.byteLength(content));
      yield [
        {
          ...newStamp(call)(),
          usage,
          usageEstimated: estimated || message.usageEstimated,
          warnings: merged(call.warnings, message.warnings),
          choices: [
            {
              $typeName: "lintel.v1.LLMChoice",
              index: 0,
              finishReason: finishReasonOf(choice.finishReason),
              message: { $typeName: "lintel.v1.LLMMessage", role: "assistant", content },
            },
          ],
        },
      ];
      return;
    }
  }
  throw cutShort();
}

async function* stream(
  call: Call<"chat">,
  next: Handle<"chat">,
): AsyncGenerator<readonly LLMResponse[]> {
  const stamp = newStamp(call);
  let usage: LLMTokenUsage | undefined;
  let finishReason = "";
  let bytes = 0;
  let usageEstimated = false;
  let warnings: readonly string[] = [];
  for await (const batch of next(call)) {
    const out: LLMResponse[] = [];
    for (const message of batch) {
      // Usage may come with the last choice, after it, or with every piece.
      if (message.usage) usage = message.usage;
      if (message.usageEstimated) usageEstimated = true;
      if (message.warnings.length > 0) warnings = message.warnings;
      const choice = message.choices[0];
      if (!choice) continue;
      const text = choice.delta?.content ?? "";
      if (text !== "") {
        bytes += Buffer.byteLength(text);
        out.push({ ...stamp(), usage: noUsage, choices: [piece(text, "")] });
      }
      if (choice.finishReason) finishReason = choice.finishReason;
    }
    if (out.length === 0) continue;
    // What was delivered counts, also if the caller leaves or upstream fails from here on.
    settle(call, undefined, bytes);
    yield out;
  }
  if (finishReason === "") throw cutShort();
  const { usage: total, estimated } = settle(call, usage, bytes);
  yield [
    {
      ...stamp(),
      usage: total,
      usageEstimated: estimated || usageEstimated,
      warnings: merged(call.warnings, warnings),
      choices: [piece("", finishReasonOf(finishReason))],
    },
  ];
}

const noUsage: LLMTokenUsage = {
  $typeName: "lintel.v1.LLMTokenUsage",
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0,
};

function piece(content: string, finishReason: string): LLMResponse["choices"][number] {
  return {
    $typeName: "lintel.v1.LLMChoice",
    index: 0,
    finishReason,
    delta: { $typeName: "lintel.v1.LLMMessage", role: "assistant", content },
  };
}

/** Makes empty messages that share one id, name and time. */
function newStamp(call: Call): () => LLMResponse {
  const id = `chatcmpl-${randomId(18)}`;
  const created = Math.floor(Date.now() / 1000);
  const model = call.attributes.model ?? "";
  return () => ({
    $typeName: "lintel.v1.LLMResponse",
    id,
    model,
    created,
    choices: [],
    usageEstimated: false,
    warnings: [],
  });
}

const merged = (own: readonly string[], other: readonly string[]) => [
  ...new Set([...own, ...other]),
];

/**
 * Notes the counts down; estimates them where the model server gave none.
 * @param bytes of the text so far, UTF-8
 */
function settle(
  call: Call<"chat"> | Call<"complete">,
  reported: LLMTokenUsage | undefined,
  bytes: number,
): { usage: LLMTokenUsage; estimated: boolean } {
  const estimated = !reported || reported.promptTokens + reported.completionTokens === 0;
  const { attributes, request } = call;
  const promptTokens = estimated
    ? (attributes.promptTokens ?? estimatePrompt(request))
    : reported.promptTokens;
  const completionTokens = estimated ? estimateTokens(bytes) : reported.completionTokens;
  attributes.promptTokens = promptTokens;
  attributes.completionTokens = completionTokens;
  attributes.estimated = estimated;
  const usage: LLMTokenUsage = {
    $typeName: "lintel.v1.LLMTokenUsage",
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
  };
  return { usage, estimated };
}
