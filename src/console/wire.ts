/** What REST answers, as far as the console reads it. */

/** A part of a message's content. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | {
      readonly type: "file";
      readonly file: { readonly filename: string; readonly file_data: string };
    }
  | {
      readonly type: "input_audio";
      readonly input_audio: { readonly data: string; readonly format: string };
    };

/** A picture that a model drew. */
export interface DrawnPart {
  readonly type: "image_url";
  readonly image_url: { readonly url: string };
  /** What its server wants to see again with it. */
  readonly extra_content?: object | null;
}

/** A message as `/llm` takes it. */
export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string | readonly Part[];
  /** What a model drew in it. */
  readonly images?: readonly DrawnPart[];
}

/** An error, also within a stream. */
export interface ErrorBody {
  readonly error?: { readonly message?: string; readonly code?: string } | null;
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** A token of an answer, or one that might have stood there. */
export interface TokenLogprob {
  readonly token: string;
  /** Natural logarithm of its probability. */
  readonly logprob: number;
  /** The likeliest at its place. */
  readonly top_logprobs?: readonly TokenLogprob[];
}

/** One event of `/llm`. */
export interface ChatChunk extends ErrorBody {
  readonly model?: string;
  readonly choices?: readonly {
    readonly finish_reason: string | null;
    readonly logprobs?: { readonly content?: readonly TokenLogprob[] | null } | null;
    readonly delta?: {
      readonly content?: string;
      readonly reasoning_content?: string;
      readonly images?: readonly DrawnPart[];
    };
  }[];
  readonly usage?: Usage | null;
  readonly usage_estimated?: boolean;
  readonly warnings?: readonly string[];
}

/** An image that was made. */
export interface Media {
  readonly url: string;
  readonly seed: number;
  readonly nsfw: boolean;
  readonly revised_prompt?: string;
}

/** One event of `/text-to-image`. */
export type ImageEvent =
  | {
      readonly type: "progress";
      /** How many of the request's images there are. */
      readonly images: number;
      readonly index: number;
      readonly step: number;
      readonly steps: number;
      /** Of the whole request. */
      readonly percent: number;
      readonly queue_position?: number;
      /** A small picture of the state, a `data:` URL. */
      readonly preview?: string;
    }
  | { readonly type: "image"; readonly index: number; readonly image: Media }
  | {
      readonly type: "done";
      readonly images: readonly Media[];
      readonly warnings?: readonly string[];
    }
  | ({ readonly type: "error" } & ErrorBody);

/** A limit of `/account`. */
export interface Limit {
  readonly quantity: string;
  readonly scope: string;
  readonly name: string;
  readonly limit: number;
  readonly remaining?: number;
  readonly window: string;
  readonly reset_seconds?: number;
}

/** What `/account` answers. */
export interface Account {
  readonly caller: string;
  readonly token: string;
  readonly team: string;
  readonly expires_at?: string;
  readonly models: readonly string[];
  readonly team_models: readonly string[];
  readonly limits: readonly Limit[];
}

/** A token that a caller made, as `TokensService` has it in JSON. */
export interface OwnToken {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly expires_at: string;
}

export interface ListOwnTokens {
  readonly tokens: readonly OwnToken[];
  readonly max_tokens: number;
  readonly max_ttl_seconds: number;
}

export interface MadeOwnToken {
  readonly token: OwnToken;
  /** What calls are made with; told this once. */
  readonly secret: string;
}

/** A model, as `ListModels` has it in JSON. */
export interface Model {
  readonly id: string;
  readonly task: "TASK_CHAT" | "TASK_TEXT_TO_IMAGE";
  readonly state: "STATE_LOADING" | "STATE_READY" | "STATE_FAILED" | "STATE_IDLE";
  readonly state_detail: string;
  readonly supports: readonly string[];
  /** 0: not known. */
  readonly max_tokens: number;
  readonly is_default: boolean;
  readonly defaults: Readonly<Record<string, number>>;
  readonly loras: readonly string[];
  readonly source: string;
  /** Bytes: a number of 64 bits, which is a text in JSON. "0": not known. */
  readonly size_bytes: string;
  /** 0: not known. */
  readonly context_length: number;
  /** Empty: not known. */
  readonly input_modalities: readonly string[];
  /** Empty: not known. */
  readonly output_modalities: readonly string[];
}
