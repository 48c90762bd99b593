/** What a person gives to a model beside a text. */
import type { Model, Part } from "../wire.js";
import { smaller } from "./smaller.js";

/** A picture, a sound, or any other file. */
export interface Attachment {
  readonly kind: "image" | "sound" | "file";
  readonly name: string;
  /** All of it, as a `data:` URL. */
  readonly url: string;
  /** Of files: whether the gateway can tell any model what it says. */
  readonly readable: boolean;
}

const pictures = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/** Of sounds: what files and media types call it, where the contract has another word. */
const otherwise: Readonly<Record<string, string>> = {
  ...{ mpeg: "mp3", wave: "wav", "x-wav": "wav", "x-m4a": "m4a", mp4: "m4a", oga: "ogg" },
  ...{ "x-flac": "flac", "x-aiff": "aiff", aif: "aiff" },
};
const sounds = ["wav", "mp3", "flac", "ogg", "opus", "m4a", "aac", "aiff", "webm"];

/** Reads a file. A picture that is larger than models look at is made smaller, as most bodies of calls could not have it. */
export async function attachmentOf(file: File): Promise<Attachment> {
  const { name, type } = file;
  if (pictures.includes(type)) {
    const kept = await smaller(file);
    return { kind: "image", name, url: await dataUrlOf(kept), readable: false };
  }
  // Browsers take TypeScript for a video.
  if (type !== "application/pdf" && (await isText(file))) {
    const text = new Blob([file], { type: "text/plain" });
    return { kind: "file", name, url: await dataUrlOf(text), readable: true };
  }
  const kind = type.startsWith("audio/") ? "sound" : "file";
  return { kind, name, url: await dataUrlOf(file), readable: type === "application/pdf" };
}

/** The part of a message that it is. */
export function partOf({ kind, name, url }: Attachment): Part {
  if (kind === "image") return { type: "image_url", image_url: { url } };
  if (kind === "file") return { type: "file", file: { filename: name, file_data: url } };
  const data = url.slice(url.indexOf(",") + 1);
  return { type: "input_audio", input_audio: { data, format: formatOf(name, url) } };
}

function formatOf(name: string, url: string): string {
  const [, told = ""] = /^data:audio\/([^;,]+)/.exec(url) ?? [];
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const words = [told, ending].map((word) => otherwise[word] ?? word);
  return words.find((word) => sounds.includes(word)) ?? told;
}

const words = {
  image: { field: "image_url", modality: "image", many: "pictures" },
  sound: { field: "input_audio", modality: "audio", many: "sounds" },
  file: { field: "file", modality: "file", many: "files but PDFs and texts" },
} as const;

/** Whether a model takes a kind of these; what it does not tell of it may be tried. */
const takes = (model: Model, kind: Attachment["kind"]): boolean =>
  model.supports.includes(words[kind].field) &&
  (model.input_modalities.length === 0 || model.input_modalities.includes(words[kind].modality));

/** What to tell a person of those that the model takes not. */
export const refusedBy = (model: Model, given: readonly Attachment[]): readonly string[] =>
  given
    .filter(({ kind, readable }) => !readable && !takes(model, kind))
    .map(({ kind, name }) => `${model.id} takes no ${words[kind].many}: take ${name} away`);

/** What a person may choose from, as attributes of an input, and in words. */
export function choiceOf(model: Model): { readonly accept: string; readonly told: string } {
  const [image, sound, file] = (["image", "sound", "file"] as const).map((kind) =>
    takes(model, kind),
  );
  const told = [
    ...(image ? ["pictures (PNG, JPEG, WebP, GIF)"] : []),
    ...(sound ? ["sounds"] : []),
    ...["PDFs", "texts"],
  ];
  const texts = "text/*,application/pdf,application/json,application/xml,.yaml,.yml,.toml,.md,.csv";
  const code = ".ts,.tsx,.js,.py,.go,.rs,.java,.c,.h,.cpp,.rb,.php,.sh,.sql,.log";
  return {
    accept: file
      ? ""
      : [...(image ? pictures : []), ...(sound ? ["audio/*"] : []), texts, code].join(),
    told: [...told, ...(file ? ["other files"] : [])].join(", "),
  };
}

/** About how many bytes one adds to a request. */
export const bytesOf = ({ url }: Attachment): number => url.length;

/** Whether it is UTF-8, which the gateway takes for a text. */
async function isText(file: File): Promise<boolean> {
  try {
    return !new TextDecoder("utf-8", { fatal: true })
      .decode(await file.arrayBuffer())
      .includes("\0");
  } catch {
    return false;
  }
}

const dataUrlOf = (file: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
