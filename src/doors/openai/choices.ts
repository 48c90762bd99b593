/** Several answers to one request (`n`), and the stream that has all of them. */
import type { LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { LintelError, Violation } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";
import type { EventEncoder, EventSink } from "../json/sse.js";

/** Most answers to one request: each is a call, and runs with the others. */
const most = 16;

/** How many answers a request asks for. @param into gets what is wrong */
export function countOf({ n }: JsonObject, into: Violation[]): number {
  // Forms send what nobody filled in.
  if (n === undefined || n === null || n === "") return 1;
  if (Number.isInteger(n) && (n as number) >= 1 && (n as number) <= most) return n as number;
  into.push({ field: "n", message: `must be an integer from 1 to ${most}` });
  return 1;
}

/** An encoder of a stream with several choices. @param encoderOf of one of them, by its place */
export const choicesEncoder = (
  count: number,
  encoderOf: (index: number) => EventEncoder<"chat">,
): EventEncoder<"chat"> =>
  new ChoicesEncoder(Array.from({ length: count }, (_, index) => encoderOf(index)));

class ChoicesEncoder implements EventEncoder<"chat"> {
  readonly #encoders: readonly EventEncoder<"chat">[];

  constructor(encoders: readonly EventEncoder<"chat">[]) {
    this.#encoders = encoders;
  }

  get #first(): EventEncoder<"chat"> {
    return this.#encoders[0] as EventEncoder<"chat">;
  }

  messages(batch: readonly LLMResponse[], to: EventSink): void {
    for (const message of batch) {
      const index = message.choices[0]?.index ?? 0;
      (this.#encoders[index] ?? this.#first).messages([message], to);
    }
  }

  failure(error: LintelError): string {
    return this.#first.failure(error);
  }

  end(): string {
    return this.#first.end();
  }
}
