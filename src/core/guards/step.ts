/** Has guards look at the texts of calls: at what callers send, and at what models answer. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call, Handle, Middleware } from "../call.js";
import { Cancellation } from "../cancellation.js";
import type { DocumentReader } from "../documents.js";
import { deferred } from "../iterate.js";
import { isChat, isCoreMethod } from "../methods.js";
import { fits } from "../pattern.js";
import { Warnings } from "../warnings.js";
import { guardedAnswer } from "./answer.js";
import { failed } from "./ask.js";
import { pdfTexts } from "./documents.js";
import type { Guard } from "./guard.js";
import { imagesOf } from "./images.js";
import { lookThrough } from "./look-through.js";
import { hearing } from "./roles.js";
import { guardedStream } from "./stream.js";
import { mapRequest } from "./texts.js";

/**
 * Stands behind the limits, since a call counts whatever guards say of it, and outside of all that
 * answers: what is kept of answers is looked at anew.
 * @param documents who reads PDFs; absent: nobody does
 */
export function guard(guards: readonly Guard[], documents?: DocumentReader): Middleware {
  return (next) => (call) => {
    if (isCoreMethod(call.method)) return next(call);
    const prompts = guards.filter((it) => applies(it, call, "prompts"));
    if (prompts.length === 0) call.attributes.guarded = call.request;
    const answers = isChat(call.method) ? guards.filter((it) => applies(it, call, "answers")) : [];
    if (prompts.length + answers.length === 0) return next(call);
    const apart = isChat(call.method) ? withoutWords(next, call) : next;
    const run: Handle = (call) =>
      answers.length > 0 ? answered(apart, call, answers) : apart(call);
    const told: Handle = (call) => (isChat(call.method) ? withWords(run(call), call) : run(call));
    if (prompts.length === 0) return told(call);
    return deferred(async () => told(await guarded(call, prompts, documents)));
  };
}

/** A handle that does not hear what guards say: its answer may be kept for others, of whom they say something else. */
function withoutWords(next: Handle, { warnings }: Call): Handle {
  const within = new Warnings(warnings);
  return (call) => {
    within.handTo(warnings);
    return next({ ...call, warnings: within });
  };
}

/** The answer with what guards said. */
async function* withWords(
  source: ReturnType<Handle>,
  { warnings }: Call,
): AsyncGenerator<readonly LLMResponse[], void> {
  for await (const batch of source as AsyncIterable<readonly LLMResponse[]>) {
    yield batch.map((message) => {
      const [choice] = message.choices;
      if (!choice?.finishReason) return message;
      return { ...message, warnings: [...new Set([...message.warnings, ...warnings])] };
    });
  }
}

/** The answer as guards leave it: each sees what those before it left. */
function answered(next: Handle, call: Call, guards: readonly Guard[]): ReturnType<Handle> {
  if (call.method === "complete") {
    return guardedAnswer(next(call) as AsyncIterable<LLMResponse[]>, call, guards);
  }
  // A stream that is blocked in the middle ends, while its call does not fail.
  const within = new Cancellation();
  const left = () => within.abort(call.signal.reason);
  if (call.signal.aborted) left();
  else call.signal.addEventListener("abort", left, { once: true });
  let stream = next({ ...call, signal: within }) as AsyncIterable<readonly LLMResponse[]>;
  for (const guard of guards) {
    stream = guardedStream(stream, call, guard, (reason) => within.abort(reason));
  }
  return stream;
}

/** Whether a guard looks at these texts of a call: by the name under which it counts. */
const applies = (
  { lookAt, models }: Guard,
  { attributes }: Call,
  what: Guard["lookAt"][number],
): boolean =>
  lookAt.includes(what) && models.some((pattern) => fits(pattern, attributes.model ?? ""));

/** The call as guards leave it. */
async function guarded(
  call: Call,
  guards: readonly Guard[],
  documents: DocumentReader | undefined,
): Promise<Call> {
  const hears = hearing(call);
  const { texts, unread } = await pdfTexts(call, guards, hears, documents);
  const { left: request, replaced } = await lookThrough(
    guards,
    call,
    "prompt",
    (map) => mapRequest(call.method, call.request, map, texts),
    {
      before(guard) {
        for (const { said, why } of unread) {
          if (hears(guard, said)) failed(guard, call, "prompt", why);
        }
      },
      hears,
      images: guards.some(({ images }) => images) ? imagesOf(call) : [],
    },
  );
  call.attributes.guarded = replaced ? request : call.request;
  return { ...call, request };
}
