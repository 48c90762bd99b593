/** Conversations, as the AI SDK's common interface has them. */
import type {
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolCallPart,
  LanguageModelV3ToolResultPart,
} from "@ai-sdk/provider";
import type { LLMMessage, ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { textOf } from "../../core/chat-messages.js";
import { parseJson } from "../../core/json.js";
import { parseMarked } from "../../core/long-numbers.js";
import { markOf } from "../../core/prompt-marks.js";
import { argumentsOf } from "../../core/tool-calls.js";
import { type IdOf, sameId } from "../call-ids.js";
import { picturesOf } from "./drawing.js";
import { type Marking, optionsOfMark, piecesOf } from "./marks.js";
import { partsOf, type TakenFiles } from "./parts.js";
import { noReplay, type Replay } from "./replay.js";
import { signedAs, signedBy } from "./signature.js";

/** What a model is told of a conversation besides its texts. */
export interface Telling {
  /** How the provider takes files. Default: by v3 of the interface, at no address. */
  readonly files?: TakenFiles;
  /** Says what is handed back of thoughts. Default: nothing. */
  readonly replay?: Replay;
  /** What it is told instead of calls' ids. Default: the ids. */
  readonly idOf?: IdOf;
  /** Whether our `fetch` puts numbers back that JavaScript has none for. Default: no. */
  readonly rewritten?: boolean;
  /** How it is told of marks for the vendor's cache. Default: not at all. */
  readonly marking?: Marking | undefined;
}

const inline: TakenFiles = { fetched: {}, tagged: false };

/**
 * A conversation, of whose results the words alone are told.
 * @throws LintelError `unsupported_parameter` for images that the provider does not take
 */
export function promptOf(
  messages: readonly LLMMessage[],
  { files = inline, replay = noReplay, idOf = sameId, rewritten = false, marking }: Telling = {},
): LanguageModelV3Prompt {
  const parse = rewritten ? parseMarked : parseJson;
  const told = marking ? messages.flatMap(piecesOf) : messages;
  const prompt: LanguageModelV3Message[] = [];
  /** Names of the tools that were called, by the ids of the calls. */
  const names = new Map<string, string>();
  for (const message of told) {
    for (const { id, function: called } of message.toolCalls) names.set(id, called?.name ?? "");
    const marked = optionsOfMark(markOf(message), marking);
    if (message.toolCallId === "") {
      prompt.push({ ...messageOf(message, files, replay, idOf, parse), ...marked });
      continue;
    }
    const { toolCallId } = message;
    const result = resultOf(idOf(toolCallId), names.get(toolCallId) ?? "", textOf(message));
    const last = prompt.at(-1);
    // Vendors want the results of parallel calls in one turn.
    if (last?.role === "tool" && !last.providerOptions) {
      last.content.push(result);
      Object.assign(last, marked);
    } else prompt.push({ role: "tool", content: [result], ...marked });
  }
  return prompt;
}

/** What a tool said, where nobody says on which call, is told as the user's. */
function messageOf(
  message: LLMMessage,
  files: TakenFiles,
  replay: Replay,
  idOf: IdOf,
  parse: typeof parseJson,
): LanguageModelV3Message {
  const { role, content, toolCalls } = message;
  const said = partsOf(message, files);
  if (role === "system" || role === "developer") return { role: "system", content };
  if (role !== "assistant") return { role: "user", content: said };
  const { reasoning, signatures, ofMessage } = replay(message);
  const calls = toolCalls.map((call) => callOf(call, idOf, signatures.get(call.id), parse));
  const pictures = picturesOf(message, files);
  const words = calls.length > 0 && content.trim() === "" ? [] : said;
  const signed = signedAs(signatures.get(""));
  return {
    role,
    content: [
      ...reasoning,
      ...words.map((part) => ({ ...part, ...signed })),
      ...pictures,
      ...calls,
    ],
    ...(ofMessage && { providerOptions: ofMessage }),
  };
}

/** @param signature where the call itself has none */
function callOf(
  call: ToolCall,
  idOf: IdOf,
  signature: string | undefined,
  parse: typeof parseJson,
): LanguageModelV3ToolCallPart {
  const { id, function: called, extraContent } = call;
  const providerOptions = signedBy(extraContent) ?? signedAs(signature)?.providerOptions;
  return {
    type: "tool-call",
    toolCallId: idOf(id),
    toolName: called?.name ?? "",
    input: argumentsOf(call, parse),
    ...(providerOptions && { providerOptions }),
  };
}

const resultOf = (
  toolCallId: string,
  toolName: string,
  content: string,
): LanguageModelV3ToolResultPart => ({
  type: "tool-result",
  toolCallId,
  toolName,
  output: { type: "text", value: content },
});
