/** What may be known of a package of a chat provider besides the common interface. */
import type { JsonObject } from "../../core/json.js";
import type { Counts } from "./counts.js";
import type { Format } from "./details.js";
import type { Drawing } from "./drawing.js";
import type { Thinking } from "./efforts.js";
import type { TokenOptions } from "./logprobs.js";
import type { Marking } from "./marks.js";
import type { WrittenIn } from "./written.js";

/** A field that a provider may hand on by the contract's name. */
export type Extra = "repetition_penalty" | "min_p" | "logit_bias";

/** How a chat provider takes what the common interface has no field for. */
export interface ChatPackage {
  /** Keys of its options in `providerOptions`. */
  readonly keys: readonly string[];
  /** Options of its create function that it has where the operator says nothing. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Whether `strictJsonSchema` is one of its options. */
  readonly strict?: boolean;
  /** Options that are sent where the operator says nothing. */
  readonly sent?: Readonly<Record<string, unknown>>;
  /** How it is told how much to think; absent: not at all, or by the common interface of AI SDK 7. */
  readonly thinking?: Thinking;
  /**
   * How it takes back what was thought: the `text` alone, text and details as `fields` of the
   * message, or only what was said in certain forms. Absent: nobody knows.
   */
  readonly thoughts?: "text" | "fields" | readonly Format[];
  /** Whether it takes PDFs, of one model or another. */
  readonly files?: boolean;
  /** Whether it takes sounds, of one model or another. */
  readonly sounds?: boolean;
  /** Fields of the common interface that its vendor does not have. */
  readonly lacks?: readonly string[];
  /**
   * What it leaves out without a word: request fields, and by the names under which it is remembered, values of
   * them. A request that needs it is refused.
   */
  readonly leaves?: readonly string[];
  /** Whether it takes back neither calls of tools nor their results, which are told as texts then. */
  readonly forgetsCalls?: boolean;
  /** Whether it can't tell its vendor which tool is to be called, or that none is: only those are offered then. */
  readonly offersChosen?: boolean;
  /** Whether streams have to be asked to count tokens, which its provider does not, or not by itself. */
  readonly asksUsage?: boolean;
  /** How `max` is said, where the common interface's is a word that its provider does not know: by a lesser word, or its own options. */
  readonly max?: "xhigh" | "options";
  /** Options that tell it whom a call is for; absent: it has none. */
  readonly user?: (id: string) => JsonObject;
  /** Options that say whether one answer may call several tools; absent: it has none. */
  readonly parallel?: (may: boolean) => JsonObject;
  /** How it is told of `top_k`, for a model; absent: by the common interface. */
  readonly topK?: (model: string) => ((topK: number) => JsonObject) | undefined;
  /** Options that say how much is to be said, for a word of the contract; absent: it has none. */
  readonly verbosity?: (level: string) => JsonObject;
  /**
   * Options that say in which tier of service a call runs, for a word of the contract: none for a tier that it does not
   * have. `extra`: an option that it does not know, and hands on to its vendor. Absent: it has no such thing.
   */
  readonly tier?: "extra" | ((tier: string) => JsonObject | undefined);
  /** Fields that its vendor knows: it hands options that it does not know itself on to it. Absent: none. */
  readonly extras?: readonly Extra[];
  /** Options with the key by which its vendor finds a prompt's begin again; absent: it has none. */
  readonly cacheKey?: (key: string) => JsonObject;
  /** Where its vendor has arguments of calls as objects; absent: nowhere, they are texts. */
  readonly written?: WrittenIn;
  /** How it is told of marks for its vendor's cache of prompts; absent: not at all. */
  readonly marking?: Marking;
  /** Models of it that refuse them. Default: none. */
  readonly unmarked?: RegExp;
  /** How its models are told to draw in their answers; absent: none does. */
  readonly drawing?: Drawing;
  /** How it is told to tell how likely tokens were; absent: it has no such thing. */
  readonly tokens?: TokenOptions;
  /** How its vendor counts tokens of prompts; absent: it does not, or not in a way that is known here. */
  readonly counts?: Counts;
}
