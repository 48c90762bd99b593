/**
 * What of an answer is thought, and what is for its reader, where a model writes it in sections, each between marks of its own:
 * Solar Open's `<|think|>…<|end|><|begin|>assistant<|content|>…<|end|>`, Kimi K3's
 * `<|open|>think<|sep|>…<|close|>think<|sep|><|open|>response<|sep|>…`.
 */
import type { Token } from "node-llama-cpp";
import { overlap } from "../stop.js";
import type { AnswerReader, Heard } from "./answer.js";

/** A kind of section. */
interface Section {
  readonly open: string;
  readonly close: string;
  /** What stands in it: calls are told with its marks, by which they are known. */
  readonly as: "thought" | "text" | "calls";
}

/** The sections that a template knows. */
export interface Sections {
  readonly kinds: readonly Section[];
  /** What stands between them, and is nobody's. */
  readonly between: readonly string[];
  /** What an answer begins with that has to be text, and one that has to be calls, where nothing is thought ahead. */
  readonly held: { readonly text: string; readonly calls: string };
}

const known: readonly (readonly [written: readonly string[], sections: Sections])[] = [
  [
    ["<|think|>", "<|content|>", "<|tool_calls|>"],
    {
      kinds: [
        { open: "<|think|>", close: "<|end|>", as: "thought" },
        { open: "<|content|>", close: "<|end|>", as: "text" },
        { open: "<|tool_calls|>", close: "<|calls|>", as: "calls" },
      ],
      between: ["<|begin|>assistant"],
      held: { text: "<|content|>", calls: "" },
    },
  ],
  [
    // Its template puts its marks together.
    ["<|open|>", "<|close|>", "<|sep|>"],
    {
      kinds: [
        { open: "<|open|>think<|sep|>", close: "<|close|>think<|sep|>", as: "thought" },
        { open: "<|open|>response<|sep|>", close: "<|close|>response<|sep|>", as: "text" },
        { open: "<|open|>tools<|sep|>", close: "<|close|>tools<|sep|>", as: "calls" },
      ],
      between: ["<|close|>message<|sep|>"],
      held: { text: "", calls: "<|close|>response<|sep|>" },
    },
  ],
];

/** The sections that a template writes; `undefined`: none. */
export const sectionsOf = (template: string): Sections | undefined =>
  known.find(([written]) => written.every((text) => template.includes(text)))?.[1];

/** Texts of their marks, which may be control tokens. */
export const textsOf = ({ kinds, between }: Sections): string[] =>
  [...kinds.flatMap(({ open, close }) => [open, close]), ...between].flatMap((text) =>
    text.split(/(?<=\|>)(?=[^<])|(?=<)/),
  );

/** Reads one answer. */
export class SectionReader implements AnswerReader {
  readonly #sections: Sections;
  readonly #tokens: ReadonlyMap<Token, string>;
  /** Absent: between sections. */
  #in: Section | undefined;
  /** The beginning of a mark, maybe. */
  #held = "";

  /**
   * @param tokens texts of the control tokens among the marks, which else are no text of an answer
   * @param prompt its end: it may have begun a section
   */
  constructor(sections: Sections, tokens: ReadonlyMap<Token, string>, prompt: string) {
    this.#sections = sections;
    this.#tokens = tokens;
    this.#in = sections.kinds.find(({ open }) => prompt.endsWith(open));
  }

  get isThinking(): boolean {
    return this.#in?.as === "thought";
  }

  push(token: Token, text: string): Heard {
    return this.#read(this.#tokens.get(token) ?? text, false);
  }

  flush(): Heard {
    return this.#read("", true);
  }

  #read(piece: string, isLast: boolean): Heard {
    const said = { thought: "", text: "" };
    let rest = this.#held + piece;
    for (;;) {
      const marks = this.#in ? [this.#in.close] : this.#outside;
      const [mark, at] = first(rest, marks);
      const held = isLast ? 0 : Math.max(...marks.map((one) => overlap(rest, one)));
      const end = mark === undefined ? rest.length - held : at;
      said[this.isThinking ? "thought" : "text"] += rest.slice(0, end);
      if (mark === undefined) {
        this.#held = rest.slice(end);
        return said;
      }
      rest = rest.slice(end + mark.length);
      const section = this.#in ?? this.#sections.kinds.find(({ open }) => open === mark);
      if (section?.as === "calls") said.text += mark;
      this.#in = this.#in ? undefined : section;
    }
  }

  /** What is looked for between sections. */
  get #outside(): string[] {
    const { kinds, between } = this.#sections;
    return [...kinds.map(({ open }) => open), ...between];
  }
}

/** The mark that stands first in a text, and where. */
function first(
  text: string,
  marks: readonly string[],
): readonly [mark: string | undefined, at: number] {
  return marks.reduce<readonly [string | undefined, number]>(
    (found, mark) => {
      const at = text.indexOf(mark);
      return at >= 0 && (found[0] === undefined || at < found[1]) ? [mark, at] : found;
    },
    [undefined, -1],
  );
}
