/** Reads what ComfyUI says over its websocket. */
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { string } from "../http/json.js";

/** What it says of a prompt. */
export type Message =
  | { readonly type: "started"; readonly prompt: string }
  | {
      readonly type: "progress";
      readonly prompt: string;
      readonly node: string;
      readonly value: number;
      readonly max: number;
    }
  /** How the picture looks, as PNG or JPEG. */
  | { readonly type: "preview"; readonly image: Buffer }
  | { readonly type: "finished"; readonly prompt: string }
  | { readonly type: "failed"; readonly prompt: string; readonly details: JsonObject }
  | { readonly type: "interrupted"; readonly prompt: string };

/** A message in text; `undefined` if it is about something else. */
export function readMessage(text: string): Message | undefined {
  const message = parseJson(text);
  if (!isObject(message) || !isObject(message.data)) return undefined;
  const { data } = message;
  const prompt = string(data.prompt_id);
  switch (message.type) {
    case "execution_start":
      return { type: "started", prompt };
    case "progress": {
      const [value, max] = [Number(data.value), Number(data.max)];
      if (!(max > 0) || !(value >= 0)) return undefined;
      return { type: "progress", prompt, node: String(data.node ?? ""), value, max };
    }
    case "executing":
      // Without a node: all is done, and the history knows.
      return data.node === null && prompt !== "" ? { type: "finished", prompt } : undefined;
    case "execution_success":
      return { type: "finished", prompt };
    case "execution_error":
      return { type: "failed", prompt, details: data };
    case "execution_interrupted":
      return { type: "interrupted", prompt };
    default:
      return undefined;
  }
}

/** Types of binary frames, by ComfyUI's `protocol.py`. */
const previewImage = 1;
const previewImageWithMetadata = 4;

/** A binary frame; `undefined` if it is not a preview. */
export function readFrame(frame: Buffer): Message | undefined {
  if (frame.length < 8) return undefined;
  const type = frame.readUInt32BE(0);
  // Then the format, 1 for JPEG and 2 for PNG, which the picture itself tells too.
  if (type === previewImage) return { type: "preview", image: frame.subarray(8) };
  if (type !== previewImageWithMetadata) return undefined;
  const end = 8 + frame.readUInt32BE(4);
  return end < frame.length ? { type: "preview", image: frame.subarray(end) } : undefined;
}
