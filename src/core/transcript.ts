/** What was said in a call, for the logs and spans of operators who switched that on. */
import type { LLMMessage, ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import type { Call } from "./call.js";
import { textOf } from "./chat-messages.js";
import { inlineImage } from "./image-urls.js";
import type { Input, MethodName, Output } from "./methods.js";
import { joinCalls } from "./tool-calls.js";

/** The answer of a chat, as far as the caller got it. */
export interface Said {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  /** Media type of each picture that it drew; empty of one that is an address. */
  readonly pictures: readonly string[];
  /** Empty: it did not come to its end. */
  readonly finishReason: string;
}

/** Collects the text of one call. */
export class Transcript {
  readonly #call: Call;
  #completion = "";
  readonly #calls: ToolCall[] = [];
  readonly #pictures: string[] = [];
  #thoughts = "";
  #finishReason = "";

  constructor(call: Call) {
    this.#call = call;
  }

  /** Takes messages of the answer. */
  add(batch: readonly Output<MethodName>[]): void {
    for (const message of batch) {
      if (message.$typeName !== "lintel.v1.LLMResponse") continue;
      const choice = message.choices[0];
      const said = choice?.delta ?? choice?.message;
      this.#completion += said?.content ?? "";
      this.#calls.push(...(said?.toolCalls ?? []));
      this.#thoughts += said?.reasoningContent ?? "";
      for (const { imageUrl } of said?.images ?? []) {
        this.#pictures.push(inlineImage(imageUrl?.url ?? "")?.mediaType ?? "");
      }
      this.#finishReason ||= choice?.finishReason ?? "";
    }
  }

  /** What was answered so far. */
  answer(): Said {
    return {
      content: this.#completion,
      reasoning: this.#thoughts,
      toolCalls: joinCalls(this.#calls),
      pictures: this.#pictures,
      finishReason: this.#finishReason,
    };
  }

  /** Fields for the log. Pictures, files and sounds are not among them. */
  fields(): Record<string, unknown> {
    const { method } = this.#call;
    const request = requestTold(this.#call);
    switch (method) {
      case "chat":
      case "complete": {
        const prompt = (request as Input<"chat"> | undefined)?.messages.map((message) => ({
          role: message.role,
          ...thought(message.reasoningContent),
          content: textOf(message),
          ...called(message.toolCalls),
        }));
        return {
          prompt,
          ...thought(this.#thoughts),
          completion: this.#completion,
          ...called(joinCalls(this.#calls)),
        };
      }
      case "textToImage":
      case "streamTextToImage": {
        const { prompt, negativePrompt } = (request ?? {}) as Partial<Input<"textToImage">>;
        return { prompt, negativePrompt };
      }
      default:
        return {};
    }
  }
}

/** The request, without what guards took out of it; `undefined`: they have not looked at it, or blocked it. */
export const requestTold = ({ request, attributes }: Call): Input<MethodName> | undefined =>
  attributes.guarded === undefined ? request : (attributes.guarded ?? undefined);

/** What was thought, where something was. */
const thought = (reasoning: string | undefined) => reasoning && { reasoning };

/** Calls of tools, where there are any. */
const called = (calls: LLMMessage["toolCalls"]) =>
  calls.length > 0 && {
    toolCalls: calls.map(({ function: it }) => ({ name: it?.name, arguments: it?.arguments })),
  };
