/** What models answer besides text and pictures: sounds, files. The contract's answers have no place for them. */
import { isObject, type JsonObject } from "../../core/json.js";

/** What parts are called, and what callers are told of them. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/image/i, "images"],
  [/audio/i, "sounds"],
  [/video/i, "videos"],
  [/file/i, "files"],
];

/** Notes what is left out of one answer. */
export class LeftOut {
  /** Kinds of what was; as a rule there is nothing, and none is made. */
  #said: Set<string> | undefined;

  /** Takes a message, or a piece of one, as servers of OpenAI's form have them. */
  ofMessage({ content, audio }: JsonObject): void {
    if (isObject(audio) && audio.data) this.ofKind("audio");
    if (!Array.isArray(content)) return;
    for (const part of content) {
      // Pictures are read elsewhere.
      if (!isObject(part) || part.type === "image_url") continue;
      if (typeof part.type === "string") this.ofKind(part.type);
    }
  }

  /** Takes something by its type, or its media type. @returns whether it is left out */
  ofKind(type: string): boolean {
    const kind = type === "" ? undefined : kinds.find(([words]) => words.test(type))?.[1];
    if (kind === undefined) return false;
    this.#said ??= new Set();
    this.#said.add(kind);
    return true;
  }

  /** What the caller is told; as a rule nothing. */
  warnings(): string[] {
    return [...(this.#said ?? [])].map(
      (kind) => `content: answers are text and images, left out: ${kind} of the model`,
    );
  }
}
