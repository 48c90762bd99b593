/**
 * What was asked and answered, as attributes of a span: messages of parts, by OpenTelemetry's
 * conventions for generative AI, in JSON.
 */
import type { Attributes } from "@opentelemetry/api";
import type { ContentPart, LLMMessage, LLMRequest, ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import type { Call } from "../core/call.js";
import { isConversation } from "../core/methods.js";
import { requestTold, type Said } from "../core/transcript.js";
import { WholeCharacters } from "../core/well-formed.js";
import { operationOf } from "./operation.js";

/** Most letters of one text; its beginning is told. */
const longestText = 16_000;

/** Most letters of the messages that a call had, together: those before the last ones are left out. */
const longestInput = 48_000;

/** Most letters of one message's parts, together: those after them are left out. */
const longestMessage = 24_000;

interface Message {
  readonly role: string;
  readonly parts: readonly object[];
  readonly finish_reason?: string;
}

/** A message in JSON. */
interface Told {
  readonly json: string;
  /** How many of its parts are not in it. */
  readonly omittedParts: number;
}

/** The attributes; none for calls that ask no model. Pictures, files and sounds are named and not among them. */
export function contentAttributes(call: Call, said: Said): Attributes {
  const { method } = call;
  if (!operationOf(method)) return {};
  const request = requestTold(call);
  if (!isConversation(method)) {
    if (!request) return {};
    const { prompt, negativePrompt } = request as TextToImageRequest;
    const parts = [prompt, negativePrompt].flatMap((words) => (words ? [text(words)] : []));
    return { "gen_ai.input.messages": JSON.stringify([{ role: "user", parts }]) };
  }
  const { told, omitted } = lastOf((request as LLMRequest | undefined)?.messages ?? []);
  const answer = answerOf(said);
  const answered = answer.parts.length > 0 ? [tell(answer)] : [];
  const omittedParts = [...told, ...answered].reduce((sum, each) => sum + each.omittedParts, 0);
  return {
    "gen_ai.input.messages": request && listOf(told),
    "lintel.content.omitted_messages": omitted || undefined,
    "lintel.content.omitted_parts": omittedParts || undefined,
    "gen_ai.output.messages": answered.length > 0 ? listOf(answered) : undefined,
  };
}

const listOf = (told: readonly Told[]) => `[${told.map(({ json }) => json).join(",")}]`;

/** The first message, which may say what all is about, and as many of the last as there is room for. */
function lastOf([first, ...rest]: readonly LLMMessage[]) {
  if (!first) return { told: [], omitted: 0 };
  const beginning = toldOf(first);
  const last: Told[] = [];
  let room = longestInput - beginning.json.length;
  for (const message of rest.toReversed()) {
    const told = toldOf(message);
    // The last one is what the call is about.
    if (last.length > 0 && told.json.length > room) break;
    room -= told.json.length;
    last.unshift(told);
  }
  return { told: [beginning, ...last], omitted: rest.length - last.length };
}

function toldOf(message: LLMMessage): Told {
  const { role, content, parts, images, toolCalls, toolCallId, reasoningContent = "" } = message;
  const said = parts.length > 0 ? parts.map(partOf) : content === "" ? [] : [text(content)];
  said.push(...images.map(partOf));
  if (role === "tool") {
    const fitting = parts.length > 0 ? fittingOf(said) : undefined;
    const response = fitting?.parts ?? cut(content);
    const part = { type: "tool_call_response", id: toolCallId, response };
    return {
      json: JSON.stringify({ role, parts: [part] }),
      omittedParts: fitting?.omitted ?? 0,
    };
  }
  return tell({ role, parts: [...thought(reasoningContent), ...said, ...toolCalls.map(callOf)] });
}

function tell(message: Message): Told {
  const { parts, omitted } = fittingOf(message.parts);
  return { json: JSON.stringify({ ...message, parts }), omittedParts: omitted };
}

/** As many of the first as there is room for; one in any case. */
function fittingOf(parts: readonly object[]) {
  let room = longestMessage;
  const tooMany = parts.findIndex((part, i) => {
    room -= JSON.stringify(part).length;
    return i > 0 && room < 0;
  });
  const fitting = tooMany < 0 ? parts : parts.slice(0, tooMany);
  return { parts: fitting, omitted: parts.length - fitting.length };
}

const answerOf = ({ content, reasoning, toolCalls, pictures, finishReason }: Said): Message => ({
  role: "assistant",
  parts: [
    ...thought(reasoning),
    ...(content === "" ? [] : [text(content)]),
    ...pictures.map((type) => blob("image", type)),
    ...toolCalls.map(callOf),
  ],
  finish_reason: finishReasons[finishReason] ?? (finishReason || "error"),
});

/** Where the conventions have another word. */
const finishReasons: Readonly<Record<string, string>> = { tool_calls: "tool_call" };

const text = (content: string) => ({ type: "text", content: cut(content) });

const thought = (content: string) =>
  content === "" ? [] : [{ type: "reasoning", content: cut(content) }];

/** By its type: what it has besides no model reads, and no guard looks at. */
function partOf({ type, text: words = "", imageUrl, file, inputAudio }: ContentPart): object {
  switch (type) {
    case "image_url": {
      const { url = "" } = imageUrl ?? {};
      if (!url.startsWith("data:")) return { type: "uri", modality: "image", uri: cut(url) };
      return blob("image", /^data:([^;,]{1,100})/.exec(url)?.[1]);
    }
    case "file":
      return { ...blob("file"), ...(file?.filename && { filename: cut(file.filename) }) };
    case "input_audio":
      return blob("audio", `audio/${inputAudio?.format ?? ""}`);
    default:
      return text(words);
  }
}

/** What bytes these are; the bytes themselves are left out. */
const blob = (modality: string, mime?: string) => ({
  type: "blob",
  modality,
  ...(mime && { mime_type: mime }),
  content: "",
});

const callOf = ({ id, function: called }: ToolCall) => ({
  type: "tool_call",
  id,
  name: called?.name ?? "",
  arguments: argumentsOf(called?.arguments ?? ""),
});

/** Most brackets of arguments that are told as JSON: within each other by the thousand no stack would hold them. */
const mostBrackets = 1000;

/** As what they are where they are JSON and short; numbers beyond what JavaScript has stay text. */
function argumentsOf(json: string): unknown {
  const isOdd = /\d{16}|\de[-+]?\d{3}/i.test(json);
  if (isOdd || json.length > longestText || json.split(/[[{]/).length > mostBrackets) {
    return cut(json);
  }
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** The beginning of a text, in whole letters. */
function cut(words: string): string {
  if (words.length <= longestText) return words;
  const told = new WholeCharacters().push(words.slice(0, longestText));
  return `${told}… (${words.length - told.length} more letters)`;
}
