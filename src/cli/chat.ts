/** `lintel chat`: one answer, or a conversation, on any Lintel. */
import { createInterface } from "node:readline/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { ChatService, type LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
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
    withServer(given, ChatService, async (client, options, explain) => {
      const settings = settingsOf(given);
      const ask = (messages: readonly Message[]) =>
        answer(client, { ...settings, messages: [...messages] }, options);
      const system = given.text("system");
      const messages: Message[] = system === undefined ? [] : [{ role: "system", content: system }];
      if (given.operand === "") return converse(ask, messages, options.signal, explain);
      await ask([...messages, { role: "user", content: given.operand }]);
      return 0;
    }),
};

/** What every request of a conversation has. */
const settingsOf = (given: Given) => ({
  model: given.text("model") ?? "",
  temperature: numberOf(given, "temperature"),
  topP: numberOf(given, "top-p"),
  topK: integerOf(given, "top-k"),
  maxTokens: integerOf(given, "max-tokens"),
  seed: seedOf(given),
});

/**
 * Answers line by line. A message that fails is forgotten, and the conversation goes on.
 * @returns the exit code: 1 if a message failed
 */
async function converse(
  ask: (messages: readonly Message[]) => Promise<string>,
  messages: Message[],
  signal: AbortSignal,
  explain: (thrown: unknown) => void,
): Promise<number> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  let prompted = false;
  const prompt = () => {
    prompted = process.stdin.isTTY;
    if (prompted) process.stderr.write("> ");
  };
  signal.addEventListener("abort", () => lines.close(), { once: true });
  let code = 0;
  prompt();
  for await (const line of lines) {
    prompted = false;
    if (line.trim() !== "") {
      const said = { role: "user", content: line };
      try {
        const content = await ask([...messages, said]);
        messages.push(said, { role: "assistant", content });
      } catch (thrown) {
        if (signal.aborted) break;
        explain(thrown);
        code = 1;
      }
    }
    prompt();
  }
  // Else what the shell says next would stand behind the prompt.
  if (prompted) process.stderr.write("\n");
  return signal.aborted ? 130 : code;
}

/** Prints an answer as it comes. */
async function answer(
  client: Client<typeof ChatService>,
  request: MessageInitShape<typeof LLMRequestSchema>,
  options: CallOptions,
): Promise<string> {
  let text = "";
  let reason = "";
  try {
    for await (const { choices, warnings } of client.chat(request, options)) {
      const [choice] = choices;
      const piece = choice?.delta?.content ?? "";
      text += piece;
      if (choice?.finishReason) reason = choice.finishReason;
      process.stdout.write(printableLines(piece));
      for (const warning of warnings) say(`\nwarning: ${warning}`);
    }
  } catch (thrown) {
    // What is said of it gets a line of its own.
    if (text !== "") process.stdout.write("\n");
    throw thrown;
  }
  process.stdout.write("\n");
  if (reason === "length") say("(cut off: --max-tokens allows more)");
  return text;
}
