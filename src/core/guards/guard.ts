/** How the core sees whoever looks at the texts of calls. */
import type { CallSignal } from "../cancellation.js";

/** A text that a guard looks at. */
export interface GuardedText {
  /** Where it stands, by the contract's names, for example `messages[2].content` or `prompt`. */
  readonly field: string;
  /** Author of the message that it is from; absent: it is from none. */
  readonly role?: string | undefined;
  /** Name of the member whose value it is, of an object in JSON; absent: it is of none. */
  readonly member?: string | undefined;
  /** Never empty. */
  readonly text: string;
  /** What stands ahead of it and was looked at before, some hundred characters at most; absent: nothing. */
  readonly before?: string | undefined;
}

/** An image of a prompt, or a picture of an answer, that a guard looks at. */
export interface GuardedImage {
  /** By the contract's names, for example `messages[2].parts[1].image_url.url`. */
  readonly field: string;
  /** Author of the message that it is from. */
  readonly role: string;
  /** Place of that message. Default: the first */
  readonly message?: number;
  /** A `data:` URL, or the address that the model server is told. */
  readonly url: string;
}

/** Which texts: what a caller sends, or what a model answers. */
export type GuardedSide = "prompt" | "answer";

/** Authors of messages, as guards tell them apart: a developer is the system, too. */
export const guardedRoles = ["system", "user", "assistant", "tool"] as const;

export type GuardedRole = (typeof guardedRoles)[number];

/** Which messages of a conversation guards may look at. */
export const guardedMessages = ["all", "last_turn"] as const;

/** What a guard may know of the call that texts are from. */
export interface GuardedCall {
  /** Request id. */
  readonly id: string;
  /** Name by which the model's calls count. */
  readonly model: string;
  /** `Caller.id`. */
  readonly caller: string;
  /** `Caller.team`; absent: the caller is of none. */
  readonly team?: string | undefined;
  /** Whom the caller asks for, by its own word; absent: it names nobody. */
  readonly user?: string | undefined;
  readonly side: GuardedSide;
  readonly signal: CallSignal;
}

/** What a guard says of texts. */
export type Verdict =
  | { readonly action: "pass" }
  | {
      readonly action: "flag";
      /** What was found, in words of the guard, for the log; never the text. */
      readonly found: readonly string[];
    }
  | {
      readonly action: "replace";
      readonly found: readonly string[];
      /** As many as were looked at, in their order. */
      readonly texts: readonly string[];
    }
  | {
      readonly action: "block";
      readonly found: readonly string[];
      /** Of the text or image at fault; absent: nobody tells. */
      readonly field?: string | undefined;
      /** Why, for the caller. */
      readonly reason?: string | undefined;
    };

/** What is said of a text that goes on. */
export interface Looked {
  /** How much of the text it is about, characters; more of it has to come before the rest is told. */
  readonly upTo: number;
  /** Texts of a `replace` are of that part. */
  readonly verdict: Verdict;
}

/** Looks at texts, and at images where it can. */
export interface Checker {
  /**
   * @param texts at least one, or none where there are images
   * @param images default: none, as it is but for a guard that looks at them
   * @throws LintelError where it can't; the signal's reason
   */
  check(
    texts: readonly GuardedText[],
    call: GuardedCall,
    images?: readonly GuardedImage[],
  ): Verdict | Promise<Verdict>;
  /**
   * Looks at a text that goes on, and holds back as much of its end as it needs to. Absent: `check`
   * is asked about pieces of some length.
   * @param before what stands ahead of it
   * @param more whether more may come: else all of it is told
   */
  look?(before: string, text: string, more: boolean): Looked;
}

/** Who looks at which texts. */
export interface Guard {
  /** Name in the configuration, unique. */
  readonly name: string;
  readonly lookAt: readonly ("prompts" | "answers")[];
  /** Of whose messages it looks at prompts. Default: of everybody's */
  readonly roles?: readonly GuardedRole[] | undefined;
  /** Whether it looks at all messages of prompts, or at those of the last turn alone. Default: `all` */
  readonly messages?: (typeof guardedMessages)[number] | undefined;
  /** Whether it looks at images, too. Default: not */
  readonly images?: boolean | undefined;
  /** Names by which calls count, or patterns with one `*`. */
  readonly models: readonly string[];
  /** What happens while it fails: `closed` refuses calls, `open` lets them pass with a warning. */
  readonly onFailure: "closed" | "open";
  readonly checker: Checker;
}
