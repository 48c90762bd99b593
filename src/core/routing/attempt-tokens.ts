/** Tokens of one attempt, for the quota of its target: as its server tells, or else about so many. */
import type { LLMTokenUsage, ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { textOfImages } from "../drawn.js";
import { estimateTokens } from "../estimate.js";
import type { Batch } from "./attempt.js";
import type { Quota } from "./quota.js";

/** Counts the messages of one answer. */
export class AttemptTokens {
  readonly #quota: Quota;
  readonly #taken: number;
  #usage: LLMTokenUsage | undefined;
  #bytes = 0;

  /** @param taken tokens of the prompt that were taken from the quota already */
  constructor(quota: Quota, taken: number) {
    this.#quota = quota;
    this.#taken = taken;
  }

  /** Takes messages of the answer. */
  add(batch: Batch): void {
    for (const message of batch) {
      if (message.$typeName !== "lintel.v1.LLMResponse") continue;
      this.#usage = message.usage ?? this.#usage;
      const choice = message.choices[0];
      const said = choice?.delta ?? choice?.message;
      if (!said) continue;
      const { content, reasoningContent = "", toolCalls, images } = said;
      this.#bytes += Buffer.byteLength(content) + Buffer.byteLength(reasoningContent);
      for (const call of toolCalls) this.#bytes += bytesOf(call);
      this.#bytes += textOfImages(images);
    }
  }

  /** It is over: what it took is put right. @param since when it began */
  end(since: number, now: number): void {
    const { promptTokens, completionTokens } = this.#usage ?? {};
    // 0 of them is no count, as in the accounts of calls.
    const prompt = promptTokens || this.#taken;
    const completion = completionTokens || estimateTokens(this.#bytes);
    this.#quota.used(prompt - this.#taken, completion, since, now);
  }
}

const bytesOf = ({ function: called }: ToolCall): number =>
  Buffer.byteLength(called?.name ?? "") + Buffer.byteLength(called?.arguments ?? "");
