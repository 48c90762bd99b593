/** Messages in parts, as the AI SDK's common interface has them. */
import type {
  LanguageModelV3,
  LanguageModelV3FilePart,
  LanguageModelV3TextPart,
} from "@ai-sdk/provider";
import type { ContentPart, LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { unsupported } from "../../core/errors.js";

/** Addresses that a provider hands on to its vendor, by media types. */
export type Fetched = Awaited<LanguageModelV3["supportedUrls"]>;

/**
 * The parts of a message.
 * @param fetched what is at other addresses would have to be fetched here, which nobody does
 * @throws LintelError `unsupported_parameter` that names `messages`
 */
export function partsOf(
  { role, content, parts }: LLMMessage,
  fetched: Fetched,
): (LanguageModelV3TextPart | LanguageModelV3FilePart)[] {
  if (parts.length === 0) return [{ type: "text", text: content }];
  if (role !== "user")
    throw unsupported("messages", `this model takes images of a user only, not of role ${role}`);
  return parts.map((part) =>
    part.type === "text" ? { type: "text", text: part.text ?? "" } : imageOf(part, fetched),
  );
}

function imageOf({ imageUrl }: ContentPart, fetched: Fetched): LanguageModelV3FilePart {
  const { url = "", detail = "" } = imageUrl ?? {};
  const options = detail === "" ? {} : { providerOptions: { openai: { imageDetail: detail } } };
  const [, mediaType, data] = inline.exec(url) ?? [];
  if (mediaType !== undefined && data !== undefined) {
    return { type: "file", mediaType, data, ...options };
  }
  const isFetched = Object.entries(fetched).some(
    ([type, patterns]) => ofImages.test(type) && patterns.some((pattern) => pattern.test(url)),
  );
  if (isFetched) return { type: "file", mediaType: "image/*", data: new URL(url), ...options };
  throw unsupported(
    "messages",
    "this model fetches no images from there: a data: URL has them inline",
  );
}

/** Packages whose providers can be told how closely an image is looked at. */
const looking: ReadonlySet<string> = new Set(["@ai-sdk/openai", "@ai-sdk/azure"]);

/** Whether messages say how closely an image is looked at, which a package's provider leaves out. */
export const losesDetail = (messages: readonly LLMMessage[], name: string): boolean =>
  !looking.has(name) &&
  messages.some(({ parts }) => parts.some(({ imageUrl }) => imageUrl?.detail));

const inline = /^data:(image\/[\w.+-]+);base64,(.*)$/is;

/** Keys under which providers have addresses of images, whatever their format. */
const ofImages = /^(?:\*|\*\/\*|image\/\*)$/;
