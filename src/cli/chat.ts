/** `lintel chat`: one answer, or a conversation, on any Lintel. */
import { createInterface } from "node:readline/promises";
import type { Client } from "@connectrpc/connect";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { integerOf, numberOf, seedOf, serverOptions, withServer } from "./client.js";
import type { Command, Given } from "./command.js";
import { printableLines, say } from "./output.js";

interface Message {
  readonly role: string;
  readonly content: string;
}

type CallOptions = { headers: Headers; signal: AbortSignal };

export const chat: Command = {
  summary: "asks a model, or talks with it, on any Lintel",
  details:
    "With MESSAGE: prints the answer. Without: a conversation, line by line, until the input ends.\nCtrl-C ends it.",
  operand: "[MESSAGE]",
  options: {
    ...serverOptions,
    system: { value: "TEXT", help: "what the model is told before anything else" },
    temperature: { value: "N", help: "0 is the likeliest answer (default: 0.7)" },
    "top-p": { value: "N", help: "how much of the likeliest tokens to choose from (default: 1)" },
    "top-k": { value: "N", help: "how many of the likeliest tokens to choose from (default: all)" },
    "max-tokens": { value: "N", help: "most tokens of an answer (default: 256)" },
    seed: { value: "N", help: "for the same answer again, where the model can" },
  },
  run: (given) =>
    withServer(given, ChatService, async (client, options) => {
      const system = given.text("system");
      const messages: Message[] = system === undefined ? [] : [{ role: "system", content: system }];
      if (given.operand !== "") {
        await answer(
          client,
          given,
          [...messages, { role: "user", content: given.operand }],
          options,
        );
        return 0;
      }
      return converse(client, given, messages, options);
    }),
};

async function converse(
  client: Client<typeof ChatService>,
  given: Given,
  messages: Message[],
  options: CallOptions,
): Promise<number> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  const prompt = () => {
    if (process.stdin.isTTY) process.stderr.write("> ");
  };
  options.signal.addEventListener("abort", () => lines.close(), { once: true });
  prompt();
  for await (const line of lines) {
    if (line.trim() !== "") {
      messages.push({ role: "user", content: line });
      messages.push({ role: "assistant", content: await answer(client, given, messages, options) });
    }
    prompt();
  }
  return options.signal.aborted ? 130 : 0;
}

/** Prints an answer as it comes. */
async function answer(
  client: Client<typeof ChatService>,
  given: Given,
  messages: readonly Message[],
  options: CallOptions,
): Promise<string> {
  let text = "";
  let reason = "";
  const request = {
    messages: [...messages],
    model: given.text("model") ?? "",
    temperature: numberOf(given, "temperature"),
    topP: numberOf(given, "top-p"),
    topK: integerOf(given, "top-k"),
    maxTokens: integerOf(given, "max-tokens"),
    seed: seedOf(given),
  };
  for await (const { choices, warnings } of client.chat(request, options)) {
    const [choice] = choices;
    const piece = choice?.delta?.content ?? "";
    text += piece;
    if (choice?.finishReason) reason = choice.finishReason;
    process.stdout.write(printableLines(piece));
    for (const warning of warnings) say(`\nwarning: ${warning}`);
  }
  process.stdout.write("\n");
  if (reason === "length") say("(cut off: --max-tokens allows more)");
  return text;
}
