/** The images of a prompt, and pictures of an answer, for guards to look at. */
import type { ContentPart, LLMMessage, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { fileIn, textLength } from "../files.js";
import { isConversation } from "../methods.js";
import type { GuardedImage } from "./guard.js";

/** Those of all messages, in their order, also those that come as files. */
export function imagesOf({ method, request }: Call): GuardedImage[] {
  if (!isConversation(method)) return [];
  return (request as LLMRequest).messages.flatMap((message, i) =>
    [...shownIn(message, `messages[${i}]`), ...drawnIn(message, `messages[${i}]`)].map((image) => ({
      ...image,
      message: i,
    })),
  );
}

const shownIn = ({ role, parts }: LLMMessage, at: string): GuardedImage[] =>
  parts.flatMap((part, i) => {
    const field = `${at}.parts[${i}]`;
    // By its type, as models have it, whatever it has besides.
    const { type, imageUrl, file } = part;
    if (type === "image_url" && imageUrl)
      return [{ field: `${field}.image_url.url`, role, url: imageUrl.url }];
    if (!file || !isImage(part)) return [];
    return [{ field: `${field}.file.file_data`, role, url: file.fileData }];
  });

/** Pictures that a model drew, in a message of it. @param at the message by the contract's names */
export const drawnIn = (
  { role, images }: Pick<LLMMessage, "role" | "images">,
  at: string,
): GuardedImage[] =>
  images.map(({ imageUrl }, i) => {
    const field = `${at}.images[${i}].image_url.url`;
    return { field, role, url: imageUrl?.url ?? "" };
  });

/** Whether a part is a file that models may look at. Drawings in XML are text to them. */
const isImage = (part: ContentPart): boolean =>
  fileIn(part)?.mediaType.startsWith("image/") === true && textLength(part) === undefined;
