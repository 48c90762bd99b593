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
import { inlineImage } from "../../core/image-urls.js";

/** Addresses that a provider hands on to its vendor, by media types. */
export type Fetched = Awaited<LanguageModelV3["supportedUrls"]>;

/** How a provider takes files, images and sounds. */
export interface TakenFiles {
  /** What is at other addresses would have to be fetched here, which nobody does. */
  readonly fetched: Fetched;
  /** Whether it is told of data if they are an address: since v4 of the interface. */
  readonly tagged: boolean;
}

/**
 * The parts of a message.
 * @throws LintelError `unsupported_parameter` that names `messages`
 */
export function partsOf(
  { role, content, parts }: LLMMessage,
  taken: TakenFiles,
): (LanguageModelV3TextPart | LanguageModelV3FilePart)[] {
  if (parts.length === 0) return [{ type: "text", text: content }];
  // What a tool shows, where nobody says on which call, is the user's.
  if (role !== "user" && role !== "tool") {
    const why = `this model takes images, files and sounds of a user only, not of role ${role}`;
    throw unsupported("messages", why);
  }
  return parts.map((part) => partOf(part, taken));
}

function partOf(
  { type, text, imageUrl, file, inputAudio }: ContentPart,
  taken: TakenFiles,
): LanguageModelV3TextPart | LanguageModelV3FilePart {
  switch (type) {
    case "image_url":
      return imageOf(imageUrl, taken);
    case "file":
      return fileOf(file, taken);
    case "input_audio": {
      const { format = "", data = "" } = inputAudio ?? {};
      return filePart(`audio/${soundTypes[format] ?? format}`, data, taken);
    }
    default:
      return { type: "text", text: text ?? "" };
  }
}

function filePart(
  mediaType: string,
  data: string | URL,
  { tagged }: TakenFiles,
): LanguageModelV3FilePart {
  if (!tagged) return { type: "file", mediaType, data };
  const said = data instanceof URL ? { type: "url", url: data } : { type: "data", data };
  return { type: "file", mediaType, data: said as unknown as URL };
}

/** @throws LintelError `unsupported_parameter` for one at an address from where nobody fetches it */
export function imageOf(image: ImageUrl | undefined, taken: TakenFiles): LanguageModelV3FilePart {
  const { url = "", detail = "" } = image ?? {};
  const looked = { imageDetail: detail };
  const options =
    detail === "" ? {} : { providerOptions: { openai: looked, azure: looked, deepseek: looked } };
  const content = inlineImage(url);
  if (content) {
    return { ...filePart(content.mediaType, url.slice(content.start), taken), ...options };
  }
  if (isFetched(url, taken, ofImages)) {
    return { ...filePart(imageTypeAt(url), new URL(url), taken), ...options };
  }
  throw unsupported(
    "messages",
    "this model fetches no images from there: a data: URL has them inline",
  );
}

/** What is at an address is a PDF, the only kind of which providers take addresses. */
function fileOf(file: FileData | undefined, taken: TakenFiles): LanguageModelV3FilePart {
  const { fileData = "", filename = "" } = file ?? {};
  const named = filename === "" ? {} : { filename };
  const content = file && inlineFile(file);
  if (content) return { ...filePart(content.mediaType, content.data, taken), ...named };
  if (isFetched(fileData, taken, ofPdfs)) {
    return { ...filePart("application/pdf", new URL(fileData), taken), ...named };
  }
  throw unsupported(
    "messages",
    "this model fetches no files from there: a data: URL has them inline",
  );
}

const isFetched = (url: string, { fetched }: TakenFiles, keys: RegExp): boolean =>
  Object.entries(fetched).some(
    ([type, patterns]) => keys.test(type) && patterns.some((pattern) => pattern.test(url)),
  );

/** By its address: since AI SDK 7 some want the format, and can't see it from an address. */
function imageTypeAt(url: string): string {
  const [, format = "*"] =
    /\.(png|jpe?g|webp|gif|heic|heif|avif)$/i.exec(new URL(url).pathname) ?? [];
  return `image/${format.toLowerCase().replace("jpg", "jpeg")}`;
}

/** Formats of sounds, where the media type has another name. */
const soundTypes: Readonly<Record<string, string>> = { mp3: "mpeg", m4a: "mp4" };

/** Packages whose providers can be told how closely an image is looked at. */
const looking: ReadonlySet<string> = new Set([
  "@ai-sdk/openai",
  "@ai-sdk/azure",
  "@ai-sdk/deepseek",
]);

/** Whether messages say how closely an image is looked at, which a package's provider leaves out. */
export const losesDetail = (messages: readonly LLMMessage[], name: string): boolean =>
  !looking.has(name) &&
  messages.some(({ parts }) => parts.some(({ imageUrl }) => imageUrl?.detail));

/** Keys under which providers have addresses of images, whatever their format, and of PDFs. */
const ofImages = /^(?:\*|\*\/\*|image\/\*)$/;
const ofPdfs = /^(?:\*|\*\/\*|application\/(?:\*|pdf))$/;
