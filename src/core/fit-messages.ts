/** Makes the messages of a chat fit one model: marks, calls of tools and parts that it does not know. */
import type { ContentPart, LLMMessage, LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import { inOneText, noParts, textPart } from "./chat-messages.js";
import { files, isReadable } from "./documents.js";
import { drawnImage } from "./drawn.js";
import { unsupported } from "./errors.js";
import { textOfFile, toldFile } from "./files.js";
import { modalities, type Values } from "./parameters.js";
import { cacheControl, isMarkedWithin, withoutMarks } from "./prompt-marks.js";
import { usesTools, withoutCalls } from "./tool-calls.js";
import type { Warnings } from "./warnings.js";

/** The request with its marks for those who read them. They change what an answer costs alone: nobody is told. */
export const marksFor = (model: Model, request: LLMRequest): LLMRequest =>
  model.supports.includes(cacheControl) ? request : withoutMarks(request);

/** What was called and came of it is told as text alone, to a model that knows no tools. */
export function withoutTools(fitted: Values, warnings: Warnings): void {
  const messages = fitted.messages as readonly LLMMessage[];
  if (!messages.some(usesTools)) return;
  if (messages.some(({ toolCalls }) => toolCalls.length > 0)) {
    warnings.add(`messages: tool_calls in them ${notTaken}`);
  }
  fitted.messages = withoutCalls(messages);
}

/**
 * Pictures that some model drew, as one is told of them that draws none: as what the user shows next, where it looks
 * at images, else not at all.
 */
export function imagesToOthers(fitted: Values, model: Model, warnings: Warnings): void {
  const messages = fitted.messages as readonly LLMMessage[];
  if (model.supports.includes(modalities) || !messages.some(hasImages)) return;
  const looks = model.supports.includes(shown);
  /** What the next message of the user's is to show. */
  let waiting: ContentPart[] = [];
  fitted.messages = messages.map((message) => {
    const { role, images } = message;
    if (images.length > 0) {
      if (looks) waiting.push(...images.map(({ imageUrl }) => drawnImage(imageUrl?.url ?? "")));
      return { ...message, images: noParts };
    }
    if (role !== "user" || waiting.length === 0) return message;
    const said = partsOf(message);
    const parts = [...waiting, ...said];
    waiting = [];
    return { ...message, content: "", parts };
  });
  if (!looks || waiting.length > 0) warnings.add(`messages: images in them ${notTaken}`);
}

const hasImages = ({ images }: LLMMessage): boolean => images.length > 0;

const notTaken = "are not supported by this model, ignored";

/** What a message says, in parts. */
const partsOf = ({ content, parts }: LLMMessage): readonly ContentPart[] =>
  parts.length > 0 || content === "" ? parts : [textPart(content)];

/** Images among the parts of messages, as what a model supports. */
const shown = "image_url";

/**
 * Texts in parts as one, unless there is a mark within, files of text as what they say, and to a model nothing
 * that it does not take.
 * @param reads whether somebody reads documents to it: those stay as they are
 * @throws LintelError `unsupported_parameter` for a part that the model does not take
 */
export function withFewerParts(fitted: Values, model: Model, reads: boolean): void {
  const messages = fitted.messages as readonly LLMMessage[];
  if (!messages.some(({ parts }) => parts.length > 0)) return;
  fitted.messages = messages.map((message, i) => {
    const parts = message.parts.map((part, j) => {
      const text = textOfFile(part);
      return text === undefined || !part.file ? part : toldFile(part.file, text, j);
    });
    for (const part of parts) {
      const { type } = part;
      if (type === "text" || model.supports.includes(type)) continue;
      if (type === files && reads && isReadable(part)) continue;
      const said = `messages[${i}] has ${inWords[type] ?? type}, and this model takes none`;
      throw unsupported("messages", said);
    }
    if (parts.length === 0) return message;
    const told = { ...message, parts };
    return joinable.has(message.role) && isMarkedWithin(told) ? told : inOneText(told);
  });
}

/** Roles whose messages may be told as several of the same. */
const joinable: ReadonlySet<string> = new Set(["system", "developer", "user"]);

/** Parts of messages, in words. */
const inWords: Readonly<Record<string, string>> = {
  image_url: "an image",
  file: "a file",
  input_audio: "a sound",
};
