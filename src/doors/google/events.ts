/** Answers of the Gemini API as streams of events, each an answer that goes on with the one before. */
import type {
  ContentPart,
  LLMMessage,
  LLMResponse,
  TokenLogprob,
  ToolCall,
} from "../../../gen/lintel/v1/chat_pb.js";
import type { LintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { toJsonLine } from "../../core/json-string.js";
import { Thoughts } from "../../core/reasoning.js";
import { newStamp } from "../../core/stamp.js";
import { joinCalls } from "../../core/tool-calls.js";
import { extras } from "../json/chat.js";
import { type EventEncoder, type EventSink, event } from "../json/sse.js";
import { TextEvents } from "../json/text-events.js";
import { Totals } from "../json/totals.js";
import {
  answerStamp,
  callParts,
  candidateHead,
  candidateTail,
  finishReasonOf,
  imagePart,
  textPart,
  thoughtPart,
  usageText,
} from "./answer.js";
import { generateError } from "./error.js";
import { Likelihood, logprobsText } from "./logprobs.js";
import { signaturesOf } from "./signature.js";

/**
 * Writes the messages of one stream as events. Calls and counts come with the last one, as Google's do.
 * @param running says what a stream that says nothing has no message for: the model
 * @param asked names the model of one whose model is not found
 * @param notes warnings of the door itself
 */
export const generateEncoder = (
  running: Pick<Running<"chat">, "model">,
  asked: string,
  notes: readonly string[] = [],
): EventEncoder<"chat"> => new GenerateEncoder(running, asked, notes);

/** What stands in events ahead of the last one, which has the counts: BAML takes none without for an answer. */
const uncounted = ',"usageMetadata":{"promptTokenCount":0,"totalTokenCount":0}';

/** An empty text: Google's SDK for Python takes any line but those of events for JSON, and Genkit reads none behind one. */
const silence = event(`{${candidateHead}${textPart("")}${candidateTail()}${uncounted}}`);

class GenerateEncoder implements EventEncoder<"chat"> {
  readonly plainEnd = true;
  readonly keepAlive = silence;
  readonly #running: Pick<Running<"chat">, "model">;
  readonly #asked: string;
  readonly #totals: Totals;
  readonly #texts = new TextEvents();
  readonly #thoughts = new TextEvents();
  readonly #calls: ToolCall[] = [];
  /** What it thought, with what the model server wants to see again. */
  #thought: Thoughts | undefined;
  /** How likely its tokens were, and those that go with the last event; absent: nobody tells, or asks. */
  #likelihood: Likelihood | undefined;
  #tokens: TokenLogprob[] = [];
  #stamp: string | undefined;
  #finishReason = "";

  constructor(...given: Required<Parameters<typeof generateEncoder>>) {
    const [running, asked, notes] = given;
    this.#running = running;
    this.#asked = asked;
    this.#totals = new Totals(notes);
  }

  messages(batch: readonly LLMResponse[], to: EventSink): void {
    for (const message of batch) {
      if (this.#stamp === undefined) this.#begin(message);
      this.#totals.take(message);
      const choice = message.choices[0];
      if (!choice) continue;
      const { delta } = choice;
      if (choice.logprobs) to.add(this.#told(delta, choice.logprobs.content));
      else if (delta?.reasoningContent) this.#thoughts.write(delta.reasoningContent, to);
      if (delta?.reasoningContent || delta?.reasoningDetails) {
        this.#thought ??= new Thoughts();
        this.#thought.add(delta);
      }
      if (delta?.content && !choice.logprobs) this.#texts.write(delta.content, to);
      for (const image of delta?.images ?? []) to.add(this.#picture(image));
      if (delta && delta.toolCalls.length > 0) this.#calls.push(...delta.toolCalls);
      if (choice.finishReason !== "") this.#finishReason = choice.finishReason;
    }
  }

  /** What is said and thought in a message, with its tokens; those of calls come with these. */
  #told(delta: LLMMessage | undefined, tokens: readonly TokenLogprob[]): string {
    this.#likelihood ??= new Likelihood();
    this.#likelihood.add(tokens);
    const { content = "", reasoningContent = "" } = delta ?? {};
    const parts = [
      ...(reasoningContent === "" ? [] : [thoughtPart(reasoningContent, "")]),
      ...(content === "" ? [] : [textPart(content)]),
    ];
    if (parts.length === 0) {
      for (const token of tokens) this.#tokens.push(token);
      return "";
    }
    const tail = candidateTail(undefined, logprobsText(tokens));
    return event(`{${candidateHead}${parts.join(",")}${tail}${uncounted}${this.#stamp}}`);
  }

  #picture(image: ContentPart): string {
    const tail = candidateTail() + uncounted;
    return event(`{${candidateHead}${imagePart(image)}${tail}${this.#stamp}}`);
  }

  end(): string {
    const { usage, estimated, warnings } = this.#totals;
    const calls = joinCalls(this.#calls);
    const signatures = signaturesOf(this.#thought?.all ?? {}, calls);
    const parts = [
      ...(signatures.thoughts === "" ? [] : [thoughtPart("", signatures.thoughts)]),
      ...callParts(calls, signatures.call),
    ];
    // Many a client looks for a part in any answer.
    const said = parts.length === 0 ? textPart("") : parts.join(",");
    const told = (this.#likelihood?.text() ?? "") + logprobsText(this.#tokens);
    const tail = candidateTail(finishReasonOf(this.#finishReason), told);
    const candidate = candidateHead + said + tail;
    return event(
      `{${candidate},"usageMetadata":${usageText(usage)}${this.#stamp ?? this.#begin()}${extras(estimated, warnings)}}`,
    );
  }

  /**
   * As an event, and once more as Google itself writes it, without `data:`. In an event its SDKs before 2 (the Gemini
   * CLI's), Genkit and LlamaIndex take it for a message that says nothing, and the answer for complete.
   */
  failure(error: LintelError): string {
    const text = toJsonLine(generateError(error));
    return event(text) + text;
  }

  #begin(message?: LLMResponse): string {
    const stamp = answerStamp(message ?? newStamp(this.#running.model ?? this.#asked));
    const head = `data: {${candidateHead}{"text":"`;
    const tail = `${candidateTail()}${uncounted}${stamp}}\n\n`;
    this.#texts.begin(head, `"}${tail}`);
    this.#thoughts.begin(head, `","thought":true}${tail}`);
    this.#stamp = stamp;
    return stamp;
  }
}
