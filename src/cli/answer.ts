/** Prints answers as they come: what a model says to stdout, what it thinks to stderr. */
import { styleText } from "node:util";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type {
  ChatService,
  ContentPart,
  LLMMessageSchema,
  LLMRequestSchema,
} from "../../gen/lintel/v1/chat_pb.js";
import { Thoughts } from "../core/reasoning.js";
import { printableLines, say } from "./output.js";

/** A message of a conversation. */
export type Message = MessageInitShape<typeof LLMMessageSchema>;

/**
 * Asks, and prints the answer.
 * @returns the answer as a message to go on from, with what was thought
 * @throws ConnectError as the server refuses; what came until then is printed
 */
export async function printAnswer(
  client: Client<typeof ChatService>,
  request: MessageInitShape<typeof LLMRequestSchema>,
  options: { readonly headers: Headers; readonly signal: AbortSignal },
): Promise<Message> {
  let content = "";
  const images: ContentPart[] = [];
  let reason = "";
  const thoughts = new Thoughts();
  const shown = new ShownThoughts();
  try {
    for await (const { choices, warnings } of client.chat(request, options)) {
      const [choice] = choices;
      const { content: piece = "", reasoningContent = "", reasoningDetails } = choice?.delta ?? {};
      thoughts.add({ reasoningContent, reasoningDetails });
      shown.add(reasoningContent, content !== "");
      if (piece !== "") shown.end();
      images.push(...(choice?.delta?.images ?? []));
      content += piece;
      if (choice?.finishReason) reason = choice.finishReason;
      process.stdout.write(printableLines(piece));
      for (const warning of warnings) say(`\nwarning: ${warning}`);
    }
  } catch (thrown) {
    shown.end();
    // What is said of it gets a line of its own.
    if (content !== "") process.stdout.write("\n");
    throw thrown;
  }
  shown.end();
  process.stdout.write("\n");
  if (images.length > 0) say(`(left out here: ${images.length} of its pictures)`);
  if (reason === "length") say("(cut off: --max-tokens allows more)");
  return { role: "assistant", content, images, ...thoughts.all };
}

/** Thoughts, with a blank line behind them; dimmed on a terminal that has colours and is to use them. */
class ShownThoughts {
  #open = false;
  /** White space that is shown only if more follows. */
  #space = "";

  /** @param behind whether something of the answer stands before */
  add(piece: string, behind: boolean): void {
    const text = this.#space + printableLines(piece);
    const written = this.#open ? text.trimEnd() : text.trim();
    this.#space = this.#open || written !== "" ? text.slice(text.trimEnd().length) : "";
    if (written === "") return;
    if (!this.#open && behind) process.stderr.write("\n\n");
    this.#open = true;
    process.stderr.write(styleText("dim", written, { stream: process.stderr }));
  }

  /** Something else follows, or nothing. */
  end(): void {
    if (this.#open) process.stderr.write("\n\n");
    this.#open = false;
    this.#space = "";
  }
}
