/** A conversation, and how one answer of it comes in. */
import { eventsOf, failureIn, type Gateway, wordsOf } from "../gateway.js";
import { nextId } from "../ids.js";
import type { ChatChunk, DrawnPart, Message, TokenLogprob, Usage } from "../wire.js";
import { type Attachment, partOf } from "./attachments.js";

/** How one answer went. */
export interface Course {
  /** Who answered. */
  readonly model?: string;
  /** Milliseconds to the first text or thought; absent: there was none. */
  readonly first?: number;
  /** Milliseconds to the end; absent: it goes on. */
  readonly total?: number;
  readonly finish?: string;
  readonly usage?: Usage;
  readonly estimated?: boolean;
  readonly warnings: readonly string[];
  readonly error?: string;
}

/** What stands in a conversation: what a person said, or what a model answered. */
export interface Turn {
  readonly id: number;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Pictures that a model drew, as addresses. */
  readonly images: readonly string[];
  /** What its server wants to see again with each of them; `null`: nothing. */
  readonly extras?: readonly (object | null)[];
  /** What a person gave beside it. */
  readonly attachments: readonly Attachment[];
  readonly thoughts: string;
  /** How likely its tokens were, where that was asked for. */
  readonly tokens?: readonly TokenLogprob[];
  /** Of answers. */
  readonly course?: Course;
}

/** A turn of which nothing is there. */
export const emptyTurn = (role: Turn["role"]): Turn => ({
  ...{ id: nextId(), role, text: "", images: [], attachments: [], thoughts: "" },
});

/** Settings of requests, as they are sent; without what is left to the gateway. */
export type Settings = Readonly<Record<string, unknown>>;

/** The request for the next answer. */
export function requestFor(turns: readonly Turn[], system: string, settings: Settings): object {
  const said = turns.filter(
    ({ text, images, attachments }) => text !== "" || images.length + attachments.length > 0,
  );
  const first: Message[] = system.trim() === "" ? [] : [{ role: "system", content: system }];
  return { ...settings, messages: [...first, ...said.map(messageOf)], stream: true };
}

function messageOf({ role, text, images, extras = [], attachments }: Turn): Message {
  if (attachments.length === 0) {
    const drawn = images.flatMap((url, i) => drawnPart(url, extras[i]));
    return { role, content: text, ...(drawn.length > 0 && { images: drawn }) };
  }
  const words = text === "" ? [] : [{ type: "text" as const, text }];
  return { role, content: [...words, ...attachments.map(partOf)] };
}

/** A picture that a model drew, for it to go on from; one that is elsewhere the gateway may not take. */
const drawnPart = (url: string, extra: object | null | undefined): DrawnPart[] =>
  url.startsWith("data:")
    ? [{ type: "image_url", image_url: { url }, ...(extra && { extra_content: extra }) }]
    : [];

/**
 * Has a model answer.
 * @param turn the answer so far, which is empty
 * @param onChange gets it anew with all that comes; also where it fails, with the reason
 * @param signal ends it, which is no failure
 */
export async function answer(
  gateway: Gateway,
  request: object,
  turn: Turn,
  onChange: (turn: Turn) => void,
  signal: AbortSignal,
): Promise<void> {
  const begun = performance.now();
  let now = turn;
  const change = (more: Partial<Turn>, course: Partial<Course> = {}) => {
    now = { ...now, ...more, course: { warnings: [], ...now.course, ...course } };
    onChange(now);
  };
  const passed = () => performance.now() - begun;
  try {
    const response = await gateway.call("llm", request, signal);
    for await (const chunk of eventsOf<ChatChunk>(response)) {
      if (chunk.error) throw failureIn(chunk);
      const { delta, finish_reason: finish, logprobs } = chunk.choices?.[0] ?? {};
      const { content = "", reasoning_content: thought = "", images = [] } = delta ?? {};
      const says = content !== "" || thought !== "" || images.length > 0;
      change(
        {
          text: now.text + content,
          thoughts: now.thoughts + thought,
          ...(logprobs?.content && { tokens: [...(now.tokens ?? []), ...logprobs.content] }),
          ...(images.length > 0 && {
            images: [...now.images, ...images.map(({ image_url }) => image_url.url)],
            extras: [
              ...(now.extras ?? []),
              ...images.map(({ extra_content = null }) => extra_content),
            ],
          }),
        },
        {
          ...(chunk.model && { model: chunk.model }),
          ...(says && now.course?.first === undefined && { first: passed() }),
          ...(chunk.warnings && { warnings: chunk.warnings }),
          ...(finish && { finish, total: passed(), ...usageIn(chunk) }),
        },
      );
    }
  } catch (error) {
    const stopped = signal.aborted;
    change(
      {},
      { total: passed(), ...(stopped ? { finish: "stopped" } : { error: wordsOf(error) }) },
    );
  }
}

const usageIn = ({ usage, usage_estimated }: ChatChunk): Partial<Course> =>
  usage ? { usage, estimated: usage_estimated ?? false } : {};
