/** The images of a prompt, for guards to look at. */
import type { ContentPart, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { fileIn, textLength } from "../files.js";
import { isConversation } from "../methods.js";
import type { GuardedImage } from "./guard.js";

/** Those of all messages, in their order, also those that come as files. */
export function imagesOf({ method, request }: Call): GuardedImage[] {
  if (!isConversation(method)) return [];
  return (request as LLMRequest).messages.flatMap(({ role, parts }, i) =>
    parts.flatMap((part, j) => {
      const field = `messages[${i}].parts[${j}]`;
      // By its type, as models have it, whatever it has besides.
      const { type, imageUrl, file } = part;
      if (type === "image_url" && imageUrl)
        return [{ field: `${field}.image_url.url`, role, url: imageUrl.url }];
      if (!file || !isImage(part)) return [];
      return [{ field: `${field}.file.file_data`, role, url: file.fileData }];
    }),
  );
}

/** Whether a part is a file that models may look at. Drawings in XML are text to them. */
const isImage = (part: ContentPart): boolean =>
  fileIn(part)?.mediaType.startsWith("image/") === true && textLength(part) === undefined;
