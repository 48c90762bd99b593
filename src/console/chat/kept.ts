/** Conversations, as the tab keeps them, or the browser where a person says so. */
import { nextId } from "../ids.js";
import type { Turn } from "./conversation.js";
import type { ChatForm } from "./form.js";

/** One of them. */
export interface Conversation {
  readonly id: string;
  /** When something was last said, milliseconds of Unix time. */
  readonly at: number;
  readonly turns: readonly Turn[];
}

const list = "lintel.conversations";
const settings = "lintel.chat";
/** Whose presence says that the browser keeps them. */
const lasting = "lintel.keep-conversations";
/** The one that a tab shows, also when it is loaded again. */
const shown = "lintel.conversation";

/** How many are kept, and of how many characters: browsers give a page about five million. */
const most = { count: 50, characters: 4_000_000 };

/** Whether they outlive the tab. */
export const isLasting = (): boolean => localStorage.getItem(lasting) !== null;

const storage = (): Storage => (isLasting() ? localStorage : sessionStorage);

/** All of them, the newest first. */
export function conversations(): readonly Conversation[] {
  try {
    return JSON.parse(storage().getItem(list) ?? "[]") as Conversation[];
  } catch {
    return [];
  }
}

/** An id that no other has, in any tab. */
export const newConversation = (): string =>
  `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

/**
 * Keeps one, in place of what was said in it before; others go where there is no room.
 * @returns whether it is kept: one that is too large is not
 */
export function keep(conversation: Conversation): boolean {
  const turns = conversation.turns.map(({ tokens: _, ...turn }) => turn);
  return write([{ ...conversation, turns }, ...others(conversation.id)], conversation.id);
}

export const forget = (id: string): void => void write(others(id));

/** All of them, wherever they are, and what was said to all models. */
export function forgetAll(): void {
  for (const one of [localStorage, sessionStorage]) {
    for (const name of [list, settings, shown]) one.removeItem(name);
  }
}

/** Has the browser keep them from now on, or the tab alone; those that are there go with it. */
export function keepLasting(yes: boolean): void {
  const from = storage();
  const all = conversations();
  const form = from.getItem(settings);
  if (yes) localStorage.setItem(lasting, "yes");
  else localStorage.removeItem(lasting);
  from.removeItem(list);
  from.removeItem(settings);
  write(all);
  if (form !== null) storage().setItem(settings, form);
}

const others = (id: string): readonly Conversation[] =>
  conversations().filter((one) => one.id !== id);

function write(all: readonly Conversation[], wanted?: string): boolean {
  const texts = all.map((one) => JSON.stringify(one));
  for (let room = most.characters; room > 10_000; room /= 2) {
    let free = room;
    // One that is too large makes no room for itself.
    const fitting = texts.slice(0, most.count).map((text) => {
      if (text.length > free) return false;
      free -= text.length + 1;
      return true;
    });
    try {
      storage().setItem(list, `[${texts.filter((_, at) => fitting[at])}]`);
      return wanted === undefined || fitting[all.findIndex(({ id }) => id === wanted)] === true;
    } catch {
      // The browser has less room than most.
    }
  }
  return false;
}

/** The conversation that the tab showed. */
export function shownBefore(): Conversation | undefined {
  const id = sessionStorage.getItem(shown);
  return conversations().find((one) => one.id === id);
}

/** Says which one the tab shows. */
export const show = (id: string): void => sessionStorage.setItem(shown, id);

/** Its turns, as others than those that are shown now. */
export const turnsOf = ({ turns }: Conversation): readonly Turn[] =>
  turns.map((turn) => ({
    ...turn,
    id: nextId(),
    // A page that was left ended its answer.
    ...(turn.course && { course: { finish: "stopped", total: 0, ...turn.course } }),
  }));

/** What the form said before, over an empty one. */
export function formBefore(empty: ChatForm): ChatForm {
  try {
    return { ...empty, ...(JSON.parse(storage().getItem(settings) ?? "{}") as Partial<ChatForm>) };
  } catch {
    return empty;
  }
}

export function keepForm(form: ChatForm): void {
  try {
    storage().setItem(settings, JSON.stringify(form));
  } catch {
    // There is no room: the next tab begins with an empty one.
  }
}

/** What a conversation is called: how it begins. */
export function titleOf({ turns }: Conversation): string {
  const [{ text = "", attachments = [] } = {} as Partial<Turn>] = turns;
  const title = text.trim().split("\n", 1)[0] || attachments[0]?.name || "…";
  return title.length > 60 ? `${title.slice(0, 59)}…` : title;
}
