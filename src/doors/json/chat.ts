/** Chat completions as JSON: whole, and in chunks. */
import type { LLMResponse, LLMTokenUsage } from "../../../gen/lintel/v1/chat_pb.js";
import type { TokenCounts } from "../../core/call.js";
import { tokenUsage } from "../../core/chat-messages.js";
import { newCompletionId } from "../../core/completion.js";
import type { LintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { isBare, toJsonLine, toJsonString } from "../../core/json-string.js";
import { inOnePiece } from "../../core/one-piece.js";
import { Warnings } from "../../core/warnings.js";
import { errorObject } from "./error.js";
import { type EventEncoder, type EventSink, event } from "./sse.js";

/** A whole answer as JSON text. Strings are never null and there is no `delta`: SDKs throw. */
export function wholeChat(response: LLMResponse, warnings = response.warnings): string {
  const { id, created, model, choices, usage, usageEstimated } = response;
  // Only texts are left to JSON.stringify, which takes twice as long for the whole object.
  const text = choices.map(
    ({ index, message, finishReason }) =>
      `{"index":${index},"message":{"role":"assistant","content":${JSON.stringify(message?.content ?? "")}},"finish_reason":${JSON.stringify(finishReason)}}`,
  );
  return `{"id":${JSON.stringify(id)},"object":"chat.completion","created":${created},"model":${JSON.stringify(model)},"choices":[${text.join(",")}],"usage":${usageText(usage)}${extras(usageEstimated, warnings)}}`;
}

/** The forms of a stream: the contract's, and what OpenAI's clients know. */
export interface ChunkForm {
  /**
   * The contract's: every `delta` says its role and content, and a failure is a chunk, too.
   * Else only what adds something is said, and a failure is an `error` alone.
   */
  readonly fullDelta: boolean;
  /** Where `usage` stands: in every chunk, in one more chunk at the end, or nowhere. */
  readonly usage: "every" | "extra" | "none";
}

/**
 * Writes the messages of one stream as chunks. What is the same in all of them
 * is made into text once.
 * @param running says what a stream that fails has no message for: the counts, and the model
 * @param asked names the model of one that fails before its model is found
 * @param notes warnings of the door itself
 */
export function chunkEncoder(
  form: ChunkForm,
  running: Pick<Running<"chat">, "model" | "counts">,
  asked: string,
  notes: readonly string[] = [],
): EventEncoder<"chat"> {
  let open: string | undefined;
  let started = false;
  let usage: LLMTokenUsage | undefined;
  let estimated = false;
  const warnings = new Warnings(notes);

  const opening = (id: string, created: number, model: string) =>
    `{"id":${toJsonString(id)},"object":"chat.completion.chunk","created":${created},"model":${toJsonString(model)},"choices":[`;
  const middle = middleUsage(form);

  /** Whether a delta says everything: each of the contract's does, and the first of any stream. */
  const full = () => form.fullDelta || !started;

  // Content is the only thing that changes from chunk to chunk: what stands ahead of it and behind it.
  let ahead: string | undefined;
  let around = 0;
  const behind = `"},"finish_reason":null}]${middle}}\n\n`;

  const text = (content: string, to: EventSink) => {
    if (ahead === undefined) {
      const role = full() ? '"role":"assistant",' : "";
      ahead = inOnePiece(`data: ${open}{"index":0,"delta":{${role}"content":"`);
      around = Buffer.byteLength(ahead) + behind.length;
    }
    if (isBare(content)) to.add(ahead + content + behind, around + content.length);
    else to.add(ahead + toJsonString(content).slice(1, -1) + behind);
    // Of another form than the contract's, the first one alone says the role.
    if (!started && !form.fullDelta) ahead = undefined;
    started = true;
  };

  const last = (reason: string, more: string) => {
    const empty = full() ? '"role":"assistant","content":""' : "";
    return `{"index":0,"delta":{${empty}},"finish_reason":${toJsonString(reason)}}]${more}}`;
  };

  const totals = () => `,"usage":${usageText(usage)}`;
  const extra = () => extras(estimated, [...warnings]);
  /** What the last chunk with a choice says besides. */
  const ending = () => {
    switch (form.usage) {
      case "every":
        return totals() + extra();
      case "extra":
        return middle;
      case "none":
        return extras(false, [...warnings]);
    }
  };

  return {
    messages(batch, to) {
      for (const message of batch) {
        open ??= opening(message.id, message.created, message.model);
        if (message.usage) usage = message.usage;
        if (message.usageEstimated) estimated = true;
        for (const warning of message.warnings) warnings.add(warning);
        const choice = message.choices[0];
        if (!choice) continue;
        const content = choice.delta?.content ?? "";
        if (choice.finishReason === "") {
          text(content, to);
          continue;
        }
        if (content !== "") text(content, to);
        to.add(event(open + last(choice.finishReason, ending())));
      }
    },
    end() {
      if (form.usage !== "extra" || open === undefined) return "";
      return event(`${open}]${totals()}${extra()}}`);
    },
    failure(error: LintelError) {
      const said = `"error":${toJsonLine(errorObject(error))}`;
      // Clients that check events against schemas take one with choices for a chunk, and drop its error.
      if (!form.fullDelta) return event(`{${said}}`);
      const model = running.model ?? asked;
      open ??= opening(newCompletionId(), Math.floor(Date.now() / 1000), model);
      const counts = form.usage === "every" ? delivered(running.counts) : middle;
      return event(open + last("error", `${counts},${said}`));
    },
  };
}

/** `usage` of the chunks before the last, as the end of an object. */
function middleUsage(form: ChunkForm): string {
  switch (form.usage) {
    case "every":
      return `,"usage":${usageText(undefined)}`;
    case "extra":
      return ',"usage":null';
    case "none":
      return "";
  }
}

function usageText(usage: LLMTokenUsage | undefined): string {
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0 } = usage ?? {};
  return `{"prompt_tokens":${promptTokens},"completion_tokens":${completionTokens},"total_tokens":${totalTokens}}`;
}

/** `usage` of an answer that broke off, as it follows other members. */
function delivered({ promptTokens = 0, completionTokens = 0, estimated = false }: TokenCounts) {
  return `,"usage":${usageText(tokenUsage(promptTokens, completionTokens))}${extras(estimated, [])}`;
}

/** Members that only stand where there is something to say, as they follow others. */
function extras(estimated: boolean, warnings: readonly string[]): string {
  const counted = estimated ? ',"usage_estimated":true' : "";
  return warnings.length > 0 ? `${counted},"warnings":${toJsonLine(warnings)}` : counted;
}
