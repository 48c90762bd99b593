/** Parts of contents, to the contract's. */
import { InputAudioSchema } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { choicesOf } from "../../core/rules.js";
import { member } from "./member.js";

/** Formats of sounds, and types that have another name. */
const sounds: ReadonlySet<string> = new Set(choicesOf(InputAudioSchema.field.format));
const soundTypes: Readonly<Record<string, string>> = {
  mpeg: "mp3",
  "x-wav": "wav",
  wave: "wav",
  mp4: "m4a",
  "x-aac": "aac",
  "x-aiff": "aiff",
  "x-flac": "flac",
};

/**
 * A part as the contract has it in JSON; `undefined` where it has nothing like it.
 * @param wrong gets a field that has the wrong type, and what is allowed
 */
export function partOf(
  part: JsonObject,
  place: string,
  wrong: (field: string, message: string) => void,
): JsonObject | undefined {
  if (part.text != null) return { type: "text", text: part.text };
  const inline = member(part, "inlineData");
  const file = member(part, "fileData");
  const data = inline ?? file;
  if (data === undefined) return undefined;
  const at = dataPlace(part, place);
  if (!isObject(data)) {
    wrong(at, "must be an object");
    return {};
  }
  const type = member(data, "mimeType");
  const content = inline === undefined ? member(data, "fileUri") : data.data;
  const contentName = inline === undefined ? "fileUri" : "data";
  if (typeof content !== "string" || content === "") {
    wrong(`${at}.${contentName}`, faultOf(content));
    return {};
  }
  // Of what is at an address the server finds out the type.
  const mayLack = inline === undefined && (type ?? "") === "";
  if (!mayLack && (typeof type !== "string" || type === "")) {
    wrong(`${at}.mimeType`, faultOf(type));
    return {};
  }
  const kind = String(type ?? "").toLowerCase();
  const filename = member(data, "displayName") ?? "";
  return inline === undefined
    ? ofKind(kind, content, filename)
    : (soundOf(kind, content) ??
        ofKind(kind, `data:${kind};base64,${standard(content)}`, filename));
}

/** What is wrong of what should be a text with something in it, and is none. */
function faultOf(value: unknown): string {
  if (value == null) return "is required";
  return value === "" ? "must not be empty" : "must be a string";
}

/** Levels of `mediaResolution`, and how closely an image is looked at; at all others as the model does. */
const details: ReadonlyMap<unknown, string> = new Map([
  ["MEDIA_RESOLUTION_LOW", "low"],
  ["MEDIA_RESOLUTION_HIGH", "high"],
  ["MEDIA_RESOLUTION_ULTRA_HIGH", "high"],
]);

/** How closely an image is looked at; `undefined`: as the model does. @param level its own, or that of all */
export const detailOf = (level: unknown): string | undefined => details.get(level);

/** The level of a part itself; `undefined`: it has none. */
export function levelOf(part: JsonObject): unknown {
  const resolution = member(part, "mediaResolution");
  return isObject(resolution) ? (resolution.level ?? undefined) : undefined;
}

/** Where the image, the file or the sound of a part stands. */
export const dataPlace = (part: JsonObject, place: string): string =>
  `${place}.${member(part, "inlineData") === undefined ? "fileData" : "inlineData"}`;

const ofKind = (kind: string, url: string, filename: unknown): JsonObject =>
  kind.startsWith("image/") && kind !== "image/svg+xml"
    ? { type: "image_url", image_url: { url } }
    : { type: "file", file: { file_data: url, filename } };

function soundOf(kind: string, data: string): JsonObject | undefined {
  const [, said = ""] = /^audio\/([^;]*)/.exec(kind) ?? [];
  const format = soundTypes[said] ?? said;
  if (!sounds.has(format)) return undefined;
  return { type: "input_audio", input_audio: { data: standard(data), format } };
}

/** Bytes may be in base64 for URLs, too. */
const standard = (base64: string): string =>
  /[-_]/.test(base64) ? base64.replaceAll("-", "+").replaceAll("_", "/") : base64;

/** Parts as one text, where they are nothing else. */
export function joined(parts: readonly JsonObject[]): unknown {
  const texts = parts.map(({ type, text }) => (type === "text" ? text : undefined));
  return texts.every((text) => typeof text === "string") ? texts.join("") : parts;
}
