/** What a model server says of its answer besides the answer: for traces. */
import type { AnswerName } from "../telemetry.js";
import type { Batch } from "./attempt.js";

/** Collects it from the messages of one answer. */
export class NamedAnswer implements AnswerName {
  id = "";
  model = "";
  finishReason = "";
  tier = "";

  /** Takes messages of the answer; those for images say nothing of the kind. */
  add(batch: Batch): void {
    for (const message of batch) {
      if (message.$typeName !== "lintel.v1.LLMResponse") continue;
      this.id ||= message.id;
      this.model ||= message.model;
      this.finishReason ||= message.choices[0]?.finishReason ?? "";
      this.tier ||= message.serviceTier ?? "";
    }
  }
}
