/** Conversations for chat templates, and interfaces, that know fewer kinds of turns, or take them in one order alone. */
import type { ContentPart, LLMMessage } from "../../../../gen/lintel/v1/chat_pb.js";
import { messageOf, textPart } from "../../../core/chat-messages.js";
import { markOf } from "../../../core/prompt-marks.js";
import { Thoughts } from "../../../core/reasoning.js";

/** Stands among what a server refused for system messages behind others: it gets one, at the beginning. */
export const lateSystems = "system messages behind others";

/**
 * Stands among what a server refused for turns of one role in a row, and a user's behind what a tool said: the first
 * are one to it, and between the others the assistant says a word.
 */
export const turnsInRow = "turns in a row";

/** Stands among what a server refused for system messages: they are the beginning of the user's first. */
export const systems = "system messages";

/** That roles have to take turns, in the words of Mistral's and Gemma's templates, and of Perplexity. */
const alternate = "(?:roles|message\\(s\\)) (?:must|should) alternate";

/**
 * Words in which these are refused, also those of Qwen's templates, who want a user's message as well, of Mistral's,
 * Google's and Anthropic's interfaces, and of AI SDK's providers. Some say the same of several: the first that there is in the conversation is meant.
 */
export const refusesTurns: Readonly<Record<string, RegExp>> = {
  [lateSystems]: new RegExp(
    `system messages? (?:must be|are only supported) (?:at|in) the begin|multiple system messages that are separated|role .system. is not supported|roles are supported, (?:got (?:system|developer)|with the exception of an initial)|unexpected role .(?:system|developer).(?: after role|\\. the messages api)|${alternate}`,
    "i",
  ),
  [turnsInRow]: new RegExp(`unexpected role .(?:user|assistant). after role|${alternate}`, "i"),
  [systems]: new RegExp(
    `system (?:role|prompt|message|instruction)s?(?: is| are)? not (?:supported|enabled|allowed)|n['o]t support (?:the )?system (?:role|prompt|message|instruction)|developer instruction is not enabled|roles are supported, got (?:system|developer)|no user query found|${alternate}`,
    "i",
  ),
};

/** What of a conversation's turns a server may refuse. */
export function turnsToRefuse(messages: readonly LLMMessage[]): string[] {
  const led = withOneSystem(messages);
  return [
    ...(led === messages ? [] : [lateSystems]),
    ...(takingTurns(led) === led ? [] : [turnsInRow]),
    ...(led.some(isSystem) ? [systems] : []),
  ];
}

/** A conversation as a server takes it. @param refused what it has refused */
export function inTurns(
  messages: readonly LLMMessage[],
  refused: ReadonlySet<string>,
): readonly LLMMessage[] {
  const led = refused.has(lateSystems) ? withOneSystem(messages) : messages;
  const plain = refused.has(systems) ? withoutSystem(led) : led;
  return refused.has(turnsInRow) ? takingTurns(plain) : plain;
}

const isSystem = ({ role }: LLMMessage): boolean => role === "system" || role === "developer";

/** System messages as one, at the beginning; the same where that is so, or there are none. */
function withOneSystem(messages: readonly LLMMessage[]): readonly LLMMessage[] {
  if (!messages.some((message, i) => i > 0 && isSystem(message))) return messages;
  const system = messages.filter(isSystem).reduce(asOne);
  return [system, ...messages.filter((message) => !isSystem(message))];
}

/** System messages as the beginning of the user's first; the same where there are none. */
function withoutSystem(messages: readonly LLMMessage[]): readonly LLMMessage[] {
  const [first, ...rest] = withOneSystem(messages);
  if (!first || !isSystem(first)) return messages;
  const { content, parts, cacheControl } = first;
  const system = Object.assign(messageOf("user", content), { parts, cacheControl });
  const at = rest.findIndex((message) => roleOf(message) === "user");
  const user = rest[at];
  return user ? rest.with(at, asOne(system, user)) : [system, ...rest];
}

/** The same conversation with no two turns in a row that a strict order has not; the same where there are none. */
function takingTurns(messages: readonly LLMMessage[]): readonly LLMMessage[] {
  const told: LLMMessage[] = [];
  let changed = false;
  for (const message of messages) {
    const last = told.at(-1);
    const meets = last && meeting(last, message);
    changed ||= meets !== undefined;
    if (last && meets === "alike") told[told.length - 1] = asOne(last, message);
    // Servers refuse a message without a word.
    else if (meets === "unanswered") told.push(messageOf("assistant", "OK."), message);
    else told.push(message);
  }
  return changed ? told : messages;
}

/** What is wrong of two turns in a row; `undefined`: nothing. */
function meeting(one: LLMMessage, other: LLMMessage): "alike" | "unanswered" | undefined {
  const [before, role] = [roleOf(one), roleOf(other)];
  if (before === "tool" && role === "user") return "unanswered";
  const alike = before === role && role !== "tool" && one.toolCalls.length === 0;
  return alike ? "alike" : undefined;
}

/** What came of a call that nobody names is the user's to servers. */
function roleOf(message: LLMMessage): string {
  if (isSystem(message)) return "system";
  return message.role === "tool" && message.toolCallId === "" ? "user" : message.role;
}

/** Two messages as one of the first's role, with all that is said, shown, thought and called in them. */
export function asOne(one: LLMMessage, other: LLMMessage): LLMMessage {
  const inParts = one.parts.length > 0 || other.parts.length > 0 || markOf(one) !== undefined;
  const texts = [one.content, other.content].filter((text) => text !== "");
  const thoughts = new Thoughts();
  for (const message of [one, other]) thoughts.add(message);
  return {
    $typeName: "lintel.v1.LLMMessage",
    role: roleOf(one),
    content: inParts ? "" : texts.join(between),
    toolCalls: other.toolCalls,
    toolCallId: "",
    parts: inParts ? joinParts(partsOf(one), partsOf(other)) : [],
    images: [...one.images, ...other.images],
    cacheControl: other.cacheControl,
    ...thoughts.all,
  };
}

const between = "\n\n";

/** What a message says, in parts: its mark is the last one's. */
function partsOf(message: LLMMessage): ContentPart[] {
  const { content, parts, cacheControl } = message;
  const all = parts.length > 0 ? parts : content === "" ? [] : [textPart(content)];
  return all.map((part, i) =>
    cacheControl && i === all.length - 1 ? Object.assign({}, part, { cacheControl }) : part,
  );
}

/** Texts that follow each other are set off. */
function joinParts(one: readonly ContentPart[], other: readonly ContentPart[]): ContentPart[] {
  const [first, ...rest] = other;
  const setsOff = one.at(-1)?.type === "text" && first?.type === "text";
  const next = setsOff ? Object.assign({}, first, { text: `${between}${first.text}` }) : first;
  return next ? [...one, next, ...rest] : [...one];
}
