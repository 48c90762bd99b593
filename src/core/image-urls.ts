/** Images that messages have in themselves. */
import type { ContentPart, LLMMessage, LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { longestHead } from "./files.js";

/** An image in a `data:` URL. */
export interface InlineImage {
  /** Such as `image/png`, in the letters of the URL. */
  readonly mediaType: string;
  /** Where in the URL the data begin. */
  readonly start: number;
  /** Whether the media type has parameters, such as a name or a charset. */
  readonly hasParameters: boolean;
}

const inline = /^data:(image\/[\w.+-]+)((?:;[^;,]*)*?);base64,/i;

/** What a `data:` URL says of its image; `undefined` where it is an address, or has none in base64. */
export function inlineImage(url: string): InlineImage | undefined {
  const [head, mediaType, parameters] = inline.exec(url.slice(0, longestHead)) ?? [];
  if (head === undefined || mediaType === undefined || head.length === url.length) return undefined;
  return { mediaType, start: head.length, hasParameters: parameters !== "" };
}

/** A request whose images have no parameters in their media types, which hardly a server knows; the same where there are none. */
export function withPlainImages(request: LLMRequest): LLMRequest {
  const { messages } = request;
  if (!messages.some(hasNamed)) return request;
  return Object.assign({}, request, {
    messages: messages.map((message) =>
      hasNamed(message)
        ? Object.assign({}, message, {
            parts: message.parts.map(plain),
            images: message.images.map(plain),
          })
        : message,
    ),
  });
}

const hasNamed = ({ parts, images }: LLMMessage): boolean =>
  parts.some(isNamed) || images.some(isNamed);

const isNamed = ({ type, imageUrl }: ContentPart): boolean =>
  type === "image_url" && inlineImage(imageUrl?.url ?? "")?.hasParameters === true;

function plain(part: ContentPart): ContentPart {
  const { imageUrl } = part;
  const image = isNamed(part) ? inlineImage(imageUrl?.url ?? "") : undefined;
  if (!image || !imageUrl) return part;
  const url = `data:${image.mediaType};base64,${imageUrl.url.slice(image.start)}`;
  return Object.assign({}, part, { imageUrl: Object.assign({}, imageUrl, { url }) });
}
