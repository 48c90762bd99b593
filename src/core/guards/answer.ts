/** Whole answers: nothing of them is delivered before guards have looked at it. */
import type { LLMMessage, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { iterable } from "../iterate.js";
import { ask, blocked } from "./ask.js";
import type { Guard, GuardedText } from "./guard.js";
import { mapMessage, type TextPlace } from "./texts.js";

type Batch = readonly LLMResponse[];

/** The one message of a whole completion as guards leave it. */
export const guardedAnswer = (
  source: AsyncIterable<Batch>,
  call: Call,
  guards: readonly Guard[],
): AsyncIterable<Batch> =>
  iterable(async function* () {
    for await (const batch of source) {
      const answers: LLMResponse[] = [];
      for (const answer of batch) answers.push(await looked(answer, call, guards));
      yield answers;
    }
  });

async function looked(
  answer: LLMResponse,
  call: Call,
  guards: readonly Guard[],
): Promise<LLMResponse> {
  const [choice] = answer.choices;
  if (!choice?.message) return answer;
  let { message } = choice;
  for (const guard of guards) message = await lookedAt(message, call, guard);
  return { ...answer, choices: [{ ...choice, message }] };
}

/**
 * What a message of an answer says as a guard leaves it.
 * @throws LintelError as `ask`
 */
export async function lookedAt(message: LLMMessage, call: Call, guard: Guard): Promise<LLMMessage> {
  const texts: (GuardedText & TextPlace)[] = [];
  mapMessage(message, "choices[0].message", (text, place) => {
    texts.push({ ...place, text });
    return text;
  });
  if (texts.length === 0) return message;
  const verdict = await ask(guard, call, "answer", texts);
  if (verdict.action !== "replace") return message;
  let next = 0;
  return mapMessage(message, "choices[0].message", (text, { fixed }) => {
    const by = verdict.texts[next++] ?? text;
    if (fixed && by !== text) throw blocked(guard, call, "answer", undefined, verdict.found);
    return by;
  });
}
