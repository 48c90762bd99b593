/** Whole answers: nothing of them is delivered before guards have looked at it. */
import type { LLMMessage, LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { isJson } from "../text-forms.js";
import type { Guard } from "./guard.js";
import { drawnIn } from "./images.js";
import { JsonMarks } from "./json-marks.js";
import { lookThrough } from "./look-through.js";
import { mapMessage } from "./texts.js";
import { tokensLeft } from "./tokens.js";

type Batch = readonly LLMResponse[];

/** The one message of a whole completion as guards leave it. */
export async function* guardedAnswer(
  source: AsyncIterable<Batch>,
  call: Call,
  guards: readonly Guard[],
): AsyncGenerator<Batch, void> {
  for await (const batch of source) {
    const answers: LLMResponse[] = [];
    for (const answer of batch) answers.push(await looked(answer, call, guards));
    yield answers;
  }
}

async function looked(
  answer: LLMResponse,
  call: Call,
  guards: readonly Guard[],
): Promise<LLMResponse> {
  const [choice] = answer.choices;
  if (!choice?.message) return answer;
  const message = await lookedAt(choice.message, call, guards);
  const { content } = message;
  if (content !== choice.message.content && isJson(call.request as LLMRequest)) {
    const marks = new JsonMarks();
    message.content = marks.pass(content, true) + marks.end();
  }
  const logprobs = tokensLeft(choice, message.content, call);
  return { ...answer, choices: [{ ...choice, message, logprobs }] };
}

/**
 * What a message of an answer says as guards leave it.
 * @throws LintelError as `ask`
 */
export const lookedAt = async (
  message: LLMMessage,
  call: Call,
  guards: readonly Guard[],
): Promise<LLMMessage> =>
  (
    await lookThrough(
      guards,
      call,
      "answer",
      (map) => mapMessage(message, "choices[0].message", map),
      { images: drawnIn(message, "choices[0].message") },
    )
  ).left;
