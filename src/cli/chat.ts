/** `lintel chat`: one answer, or a conversation, on any Lintel. */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { ChatService, type LLMRequest, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { choicesOf } from "../core/rules.js";
import { type Message, printAnswer } from "./answer.js";
import { formOf, formOptions } from "./answer-form.js";
import { fileOf, imageOf, type Part, soundOf, sounds } from "./attachments.js";
import { integerOf, numberOf, seedOf, serverOptions, withServer } from "./client.js";
import { type Command, type Given, UsageError } from "./command.js";

const efforts = choicesOf(LLMRequestSchema.field.reasoningEffort);
const verbosities = choicesOf(LLMRequestSchema.field.verbosity);
const tiers = choicesOf(LLMRequestSchema.field.serviceTier);

export const chat: Command = {
  summary: "asks a model, or talks with it, on any Lintel",
  details:
    "With MESSAGE: prints the answer. Without: a conversation, line by line, until the input ends.\nCtrl-C ends it. What the model thinks before it answers goes to stderr, its answer to stdout.",
  operand: "[MESSAGE]",
  options: {
    ...serverOptions,
    system: { value: "TEXT", help: "what the model is told before anything else" },
    temperature: { value: "N", help: "0 is the likeliest answer (default: 0.7)" },
    "top-p": { value: "N", help: "how much of the likeliest tokens to choose from (default: 1)" },
    "top-k": { value: "N", help: "how many of the likeliest tokens to choose from (default: all)" },
    "min-p": {
      value: "N",
      help: "leaves out tokens below this share of the likeliest one (default: 0)",
    },
    "frequency-penalty": {
      value: "N",
      help: "what tokens lose each time they were said, from -2 to 2 (default: 0)",
    },
    "presence-penalty": {
      value: "N",
      help: "what tokens lose once they were said, from -2 to 2 (default: 0)",
    },
    "repetition-penalty": {
      value: "N",
      help: "how much less likely tokens are that were said; above 1 less (default: 1)",
    },
    "logit-bias": {
      value: "ID=N",
      multiple: true,
      help: "what is added to the logit of the token with this id, from -100 to 100; may be repeated",
    },
    ...formOptions,
    "max-tokens": { value: "N", help: "most tokens of an answer (default: 256)" },
    seed: { value: "N", help: "for the same answer again, where the model can" },
    effort: {
      value: "LEVEL",
      help: `how much to think first: ${efforts.join(", ")} (default: as the model does)`,
    },
    verbosity: {
      value: "LEVEL",
      help: `how much to say: ${verbosities.join(", ")} (default: as the model does)`,
    },
    "service-tier": {
      value: "TIER",
      help: `how soon, and for how much: ${tiers.join(", ")} (default: as the model server does)`,
    },
    user: { value: "ID", help: "whom it is for, as usage tells it" },
    "no-thoughts": { help: "leaves out what the model thinks" },
    image: {
      value: "FILE|URL",
      multiple: true,
      help: "an image to look at, with the first message: PNG, JPEG, WebP or GIF; may be repeated",
    },
    file: {
      value: "FILE|URL",
      multiple: true,
      help: "a PDF or a text to read, with the first message; may be repeated",
    },
    audio: {
      value: "FILE",
      multiple: true,
      help: `a sound to listen to, with the first message: ${sounds.join(", ")}; may be repeated`,
    },
  },
  run: (given) =>
    withServer(given, ChatService, async (client, options, explain) => {
      const settings = settingsOf(given);
      const attached = await Promise.all([
        ...given.texts("image").map(imageOf),
        ...given.texts("file").map(fileOf),
        ...given.texts("audio").map(soundOf),
      ]);
      const ask = (messages: readonly Message[]) =>
        printAnswer(client, { ...settings, messages: [...messages] }, options);
      const system = given.text("system");
      const messages: Message[] = system === undefined ? [] : [{ role: "system", content: system }];
      if (given.operand === "") return converse(ask, messages, attached, options.signal, explain);
      await ask([...messages, question(given.operand, attached)]);
      return 0;
    }),
};

/** What every request of a conversation has. */
const settingsOf = (given: Given) => ({
  model: given.text("model") ?? "",
  temperature: numberOf(given, "temperature"),
  topP: numberOf(given, "top-p"),
  topK: integerOf(given, "top-k"),
  minP: numberOf(given, "min-p"),
  frequencyPenalty: numberOf(given, "frequency-penalty"),
  presencePenalty: numberOf(given, "presence-penalty"),
  repetitionPenalty: numberOf(given, "repetition-penalty"),
  logitBias: biasOf(given.texts("logit-bias")),
  responseFormat: formOf(given),
  maxTokens: integerOf(given, "max-tokens"),
  seed: seedOf(given),
  reasoningEffort: choiceOf(given, "effort", efforts),
  verbosity: choiceOf(given, "verbosity", verbosities),
  serviceTier: choiceOf(given, "service-tier", tiers),
  includeReasoning: given.has("no-thoughts") ? false : undefined,
  user: given.text("user") ?? "",
  // Its turns are for the model server that has what was said before.
  promptCacheKey: given.operand === "" ? randomUUID() : "",
});

/** Numbers by tokens' ids, as options name them. @throws UsageError */
function biasOf(written: readonly string[]): LLMRequest["logitBias"] {
  return Object.fromEntries(
    written.map((text) => {
      const [, id, bias] = /^(\d{1,10})=(-?\d+(?:\.\d+)?)$/.exec(text) ?? [];
      if (id === undefined || Number(id) > lastToken) {
        throw new UsageError(`--logit-bias ${text}: must be a token's id, =, and a number`);
      }
      return [Number(id), Number(bias)];
    }),
  );
}

/** The greatest id that there can be. */
const lastToken = 2 ** 31 - 1;

/** One of some words. @throws UsageError */
function choiceOf(given: Given, name: string, choices: readonly string[]): string | undefined {
  const choice = given.text(name);
  if (choice === undefined || choices.includes(choice)) return choice;
  throw new UsageError(`--${name} must be one of ${choices.join(", ")}`);
}

/** What the user says, with what there is beside it. */
const question = (text: string, attached: readonly Part[]): Message =>
  attached.length === 0
    ? { role: "user", content: text }
    : { role: "user", parts: [{ type: "text", text }, ...attached] };

/**
 * Answers line by line. A message that fails is forgotten, and the conversation goes on.
 * @param attached goes with the first message that is answered
 * @returns the exit code: 1 if a message failed
 */
async function converse(
  ask: (messages: readonly Message[]) => Promise<Message>,
  messages: Message[],
  attached: readonly Part[],
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
  let shown = attached;
  prompt();
  for await (const line of lines) {
    prompted = false;
    if (line.trim() !== "") {
      const said = question(line, shown);
      try {
        messages.push(said, await ask([...messages, said]));
        shown = [];
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
