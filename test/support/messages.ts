/** Messages of conversations, as the contract has them. */
import type { ContentPart, LLMMessage } from "../../gen/lintel/v1/chat_pb.js";

/** A message of plain text. @param more what it says of tools, shows, or thought */
export const say = (
  role: string,
  content: string,
  more: Partial<Omit<LLMMessage, "$typeName" | "role" | "content">> = {},
): LLMMessage => ({
  $typeName: "lintel.v1.LLMMessage",
  role,
  content,
  toolCalls: [],
  toolCallId: "",
  parts: [],
  images: [],
  ...more,
});

/** A part that is a text. */
export const textPart = (text: string): ContentPart => ({
  $typeName: "lintel.v1.ContentPart",
  type: "text",
  text,
});

/** A part that is an image. */
export const imagePart = (url: string, detail = ""): ContentPart => ({
  $typeName: "lintel.v1.ContentPart",
  type: "image_url",
  imageUrl: { $typeName: "lintel.v1.ImageUrl", url, detail },
});

/** A part that is a file. @param fileData a `data:` URL, or an address */
export const filePart = (fileData: string, filename = ""): ContentPart => ({
  $typeName: "lintel.v1.ContentPart",
  type: "file",
  file: { $typeName: "lintel.v1.FileData", fileData, filename },
});

/** A part that is a sound. @param data in base64 */
export const soundPart = (data: string, format: string): ContentPart => ({
  $typeName: "lintel.v1.ContentPart",
  type: "input_audio",
  inputAudio: { $typeName: "lintel.v1.InputAudio", data, format },
});
