/** What was said in a call, for the logs of operators who switched that on. */
import type { Call } from "./call.js";
import type { Input, MethodName, Output } from "./methods.js";

/** Collects the text of one call. */
export class Transcript {
  readonly #call: Call;
  #completion = "";

  constructor(call: Call) {
    this.#call = call;
  }

  /** Takes messages of the answer. */
  add(batch: readonly Output<MethodName>[]): void {
    for (const message of batch) {
      if (message.$typeName !== "lintel.v1.LLMResponse") continue;
      const choice = message.choices[0];
      this.#completion += (choice?.delta ?? choice?.message)?.content ?? "";
    }
  }

  /** Fields for the log. Pictures are not among them. */
  fields(): Record<string, unknown> {
    const { method } = this.#call;
    switch (method) {
      case "chat":
      case "complete": {
        const { messages } = this.#call.request as Input<"chat">;
        const prompt = messages.map(({ role, content }) => ({ role, content }));
        return { prompt, completion: this.#completion };
      }
      case "textToImage":
      case "streamTextToImage": {
        const { prompt, negativePrompt } = this.#call.request as Input<"textToImage">;
        return { prompt, negativePrompt };
      }
      default:
        return {};
    }
  }
}
