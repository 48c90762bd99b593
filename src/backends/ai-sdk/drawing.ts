/** Pictures that models draw in a conversation, as providers ask for them and tell them. */
import type { LanguageModelV3FilePart, SharedV3ProviderMetadata } from "@ai-sdk/provider";
import type { ContentPart, LLMMessage, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { toBase64 } from "../../core/base64.js";
import { drawnImage } from "../../core/drawn.js";
import { isObject, type JsonObject } from "../../core/json.js";
import type { LeftOut } from "../completions/left-out.js";
import { imageOf, type TakenFiles } from "./parts.js";
import { extraContentOf, signedBy } from "./signature.js";

/** How the models of a package are told to draw. */
export interface Drawing {
  /** Those that do. */
  readonly models: RegExp;
  /** Options for a request. */
  options(request: Pick<LLMRequest, "modalities" | "imageConfig">): JsonObject;
}

/** Google's, of AI Studio and Vertex. */
export const geminiDrawing: Drawing = {
  models: /image|banana/i,
  options({ modalities, imageConfig }) {
    const { aspectRatio = "", imageSize = "" } = imageConfig ?? {};
    const config = {
      ...(aspectRatio !== "" && { aspectRatio }),
      ...(imageSize !== "" && { imageSize }),
    };
    return {
      ...(modalities.length > 0 && {
        responseModalities: modalities.map((one) => one.toUpperCase()),
      }),
      ...(Object.keys(config).length > 0 && { imageConfig: config }),
    };
  },
};

/** A file among what a provider answers; since v4 of the interface the data say what they are. */
export interface AnsweredFile {
  readonly mediaType: string;
  readonly data: unknown;
  readonly providerMetadata?: SharedV3ProviderMetadata;
}

/**
 * The picture that a file is; `undefined` where it is none, or one that the model drew in its thoughts alone.
 * @param left gets what else it is
 */
export function pictureIn(file: AnsweredFile, left: LeftOut): ContentPart | undefined {
  const { mediaType, providerMetadata = {} } = file;
  if (Object.values(providerMetadata).some(({ thought }) => thought === true)) return undefined;
  const data = mediaType.startsWith("image/") ? dataOf(file) : undefined;
  if (data !== undefined) return drawnImage(data, extraContentOf(providerMetadata));
  if (!left.ofKind(mediaType)) left.ofKind("file");
  return undefined;
}

function dataOf({ mediaType, data }: AnsweredFile): string | undefined {
  const told = isObject(data) ? (data.url ?? data.data) : data;
  if (told instanceof URL) return told.href;
  const inBase64 = told instanceof Uint8Array ? toBase64(told) : told;
  return typeof inBase64 === "string" ? `data:${mediaType};base64,${inBase64}` : undefined;
}

/**
 * Pictures of a message that some model drew, for a provider that is told them again.
 * @throws LintelError `unsupported_parameter` for one at an address
 */
export const picturesOf = (
  { images }: LLMMessage,
  { tagged }: TakenFiles,
): LanguageModelV3FilePart[] =>
  images.map(({ imageUrl, extraContent = "" }) => {
    const providerOptions = signedBy(extraContent);
    const part = imageOf(imageUrl, { fetched: {}, tagged });
    return providerOptions ? { ...part, providerOptions } : part;
  });
