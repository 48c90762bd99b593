/** Streams whose clients are told other calls of tools than the core tells. */
import type { LLMMessage, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { messageOf } from "../../core/chat-messages.js";
import type { LintelError } from "../../core/errors.js";
import type { EventEncoder, EventSink } from "../json/sse.js";

/** An encoder that is given others in place of the calls that came. */
export abstract class CallsEncoder implements EventEncoder<"chat"> {
  readonly #to: EventEncoder<"chat">;

  constructor(to: EventEncoder<"chat">) {
    this.#to = to;
  }

  /**
   * What is told in place of the calls of a message, or pieces of them; the same: they are.
   * @param isLast whether no more come
   */
  protected abstract told(
    pieces: LLMMessage["toolCalls"],
    isLast: boolean,
  ): LLMMessage["toolCalls"];

  get plainEnd(): boolean | undefined {
    return this.#to.plainEnd;
  }

  get keepAlive(): string | undefined {
    return this.#to.keepAlive;
  }

  messages(batch: readonly LLMResponse[], to: EventSink): void {
    this.#to.messages(
      batch.map((message) => this.#changed(message)),
      to,
    );
  }

  failure(error: LintelError): string {
    return this.#to.failure(error);
  }

  isToldInStream(error: LintelError): boolean {
    return this.#to.isToldInStream?.(error) ?? false;
  }

  end(): string {
    return this.#to.end();
  }

  #changed(message: LLMResponse): LLMResponse {
    const [choice, ...rest] = message.choices;
    if (!choice) return message;
    const { finishReason, delta = messageOf("assistant", "") } = choice;
    const toolCalls = this.told(delta.toolCalls, finishReason !== "");
    if (toolCalls === delta.toolCalls) return message;
    return { ...message, choices: [{ ...choice, delta: { ...delta, toolCalls } }, ...rest] };
  }
}
