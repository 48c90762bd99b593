/** What the end of a streamed completion tells of all of it. */
import type { LLMResponse, LLMTokenUsage } from "../../../gen/lintel/v1/chat_pb.js";
import { Warnings } from "../../core/warnings.js";

/** Collects it, message by message. */
export class Totals {
  readonly #warnings: Warnings;
  #usage: LLMTokenUsage | undefined;
  #estimated = false;
  #tier: string | undefined;

  /** @param notes warnings of the door itself */
  constructor(notes: readonly string[]) {
    this.#warnings = new Warnings(notes);
  }

  /** Counts of tokens; absent until a message has some. */
  get usage(): LLMTokenUsage | undefined {
    return this.#usage;
  }

  /** Whether they are an estimate. */
  get estimated(): boolean {
    return this.#estimated;
  }

  /** Which tier of service it had; absent: that is not told. */
  get tier(): string | undefined {
    return this.#tier;
  }

  get warnings(): string[] {
    return [...this.#warnings];
  }

  take({ usage, usageEstimated, warnings, serviceTier }: LLMResponse): void {
    if (usage) this.#usage = usage;
    if (usageEstimated) this.#estimated = true;
    if (serviceTier !== undefined) this.#tier = serviceTier;
    for (const warning of warnings) this.#warnings.add(warning);
  }
}
