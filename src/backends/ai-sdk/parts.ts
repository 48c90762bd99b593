/** Messages in parts, as the AI SDK's common interface has them. */
import type {
  LanguageModelV3,
  LanguageModelV3FilePart,
  LanguageModelV3TextPart,
} from "@ai-sdk/provider";
import type {
  ContentPart,
  FileData,
  ImageUrl,
  LLMMessage,
} from "../../../gen/lintel/v1/chat_pb.js";
import { unsupported } from "../../core/errors.js";
import { inlineFile } from "../../core/files.js";

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
  if (role !== "user") {
    const why = `this model takes images, files and sounds of a user only, not of role ${role}`;
    throw unsupported("messages", why);
  }
  return parts.map((part) => partOf(part, fetched));
}

function partOf(
  { type, text, imageUrl, file, inputAudio }: ContentPart,
  fetched: Fetched,
): LanguageModelV3TextPart | LanguageModelV3FilePart {
  switch (type) {
    case "image_url":
      return imageOf(imageUrl, fetched);
    case "file":
      return fileOf(file, fetched);
    case "input_audio": {
      const { format = "", data = "" } = inputAudio ?? {};
      return { type: "file", mediaType: `audio/${soundTypes[format] ?? format}`, data };
    }
    default:
      return { type: "text", text: text ?? "" };
  }
}

function imageOf(image: ImageUrl | undefined, fetched: Fetched): LanguageModelV3FilePart {
  const { url = "", detail = "" } = image ?? {};
  const options = detail === "" ? {} : { providerOptions: { openai: { imageDetail: detail } } };
  const [, mediaType, data] = inline.exec(url) ?? [];
  if (mediaType !== undefined && data !== undefined) {
    return { type: "file", mediaType, data, ...options };
  }
  if (isFetched(url, fetched, ofImages)) {
    return { type: "file", mediaType: "image/*", data: new URL(url), ...options };
  }
  throw unsupported(
    "messages",
    "this model fetches no images from there: a data: URL has them inline",
  );
}

/** What is at an address is a PDF, the only kind of which providers take addresses. */
function fileOf(file: FileData | undefined, fetched: Fetched): LanguageModelV3FilePart {
  const { fileData = "", filename = "" } = file ?? {};
  const named = filename === "" ? {} : { filename };
  const content = file && inlineFile(file);
  if (content) return { type: "file", mediaType: content.mediaType, data: content.data, ...named };
  if (isFetched(fileData, fetched, ofPdfs)) {
    return { type: "file", mediaType: "application/pdf", data: new URL(fileData), ...named };
  }
  throw unsupported(
    "messages",
    "this model fetches no files from there: a data: URL has them inline",
  );
}

const isFetched = (url: string, fetched: Fetched, keys: RegExp): boolean =>
  Object.entries(fetched).some(
    ([type, patterns]) => keys.test(type) && patterns.some((pattern) => pattern.test(url)),
  );

/** Formats of sounds, where the media type has another name. */
const soundTypes: Readonly<Record<string, string>> = { mp3: "mpeg", m4a: "mp4" };

/** Packages whose providers can be told how closely an image is looked at. */
const looking: ReadonlySet<string> = new Set(["@ai-sdk/openai", "@ai-sdk/azure"]);

/** Whether messages say how closely an image is looked at, which a package's provider leaves out. */
export const losesDetail = (messages: readonly LLMMessage[], name: string): boolean =>
  !looking.has(name) &&
  messages.some(({ parts }) => parts.some(({ imageUrl }) => imageUrl?.detail));

const inline = /^data:(image\/[\w.+-]+);base64,(.*)$/is;

/** Keys under which providers have addresses of images, whatever their format, and of PDFs. */
const ofImages = /^(?:\*|\*\/\*|image\/\*)$/;
const ofPdfs = /^(?:\*|\*\/\*|application\/(?:\*|pdf))$/;
