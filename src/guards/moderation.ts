/** The moderation endpoint of an OpenAI-compatible API as a guard of texts and images. */
import { LintelError, toLintelError } from "../core/errors.js";
import type { GuardedCall, GuardedImage, GuardedText } from "../core/guards/guard.js";
import {
  imageInput,
  type ModerationResult,
  type ModerationSettings,
  Moderations,
  noVerdict,
} from "../safety/moderations.js";
import type { OwnedChecker } from "./open.js";
import { Remembered } from "./remembered.js";

/** Texts of one field, which are asked about together. */
interface Asked {
  readonly field: string;
  readonly text: string;
}

/** What is flagged, and for what. */
interface Flagged {
  /** Absent: the server does not tell which. */
  readonly field: string | undefined;
  readonly found: readonly string[];
}

/** Most questions of one call at once: its images leave connections to other calls. */
const atOnce = 4;

/** How a guard asks. */
export interface ModerationGuardSettings extends ModerationSettings {
  readonly action: "block" | "flag";
  /** How long what was said of a prompt's text or image holds, milliseconds. Default: 0, it is asked about each time */
  readonly remember?: number;
}

/**
 * Asks about all texts of a call in one request, and about each image in one: it takes no more.
 * @param now milliseconds
 */
export function moderationGuard(
  settings: ModerationGuardSettings,
  now?: () => number,
): OwnedChecker {
  const moderations = new Moderations(settings);
  const { remember = 0 } = settings;
  const remembered = remember > 0 ? new Remembered(remember, now) : undefined;
  return {
    async check(texts, { signal, side }, images = []) {
      const asked = byField(texts);
      // Pieces of answers do not come again.
      const known = side === "prompt" ? remembered : undefined;
      const said = await allOf(
        [
          ...(asked.length > 0 ? [() => ofTexts(moderations, asked, known, signal)] : []),
          ...images.map((image) => () => ofImage(moderations, image, known, signal)),
        ],
        signal,
      );
      const flagged = said.flatMap((one) => (one.status === "fulfilled" && one.value) || []);
      const [first] = flagged;
      const found = [...new Set(flagged.flatMap((one) => one.found))];
      // Whoever adds an image that nobody can look at gets nothing else past by that.
      if (first && settings.action === "block")
        return { action: "block", found, field: first.field };
      const failed = said.find((one) => one.status === "rejected");
      if (failed) throw failed.reason;
      return first ? { action: "flag", found } : { action: "pass" };
    },
    close: () => moderations.close(),
  };
}

/**
 * What became of questions, in their order; none more is asked once one took too long.
 * @throws the signal's reason
 */
async function allOf<T>(
  questions: readonly (() => Promise<T>)[],
  signal: GuardedCall["signal"],
): Promise<PromiseSettledResult<T>[]> {
  const said: PromiseSettledResult<T>[] = [];
  const left = questions.entries();
  let late = false;
  const inTurn = async () => {
    for (const [i, ask] of left) {
      signal.throwIfAborted();
      const [one] = await Promise.allSettled([ask()]);
      said[i] = one;
      late ||= one.status === "rejected" && toLintelError(one.reason).code === "timeout";
      if (late) return;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, inTurn));
  return said;
}

/** What was said of each, where that is known, and is asked where it is not. */
async function ofTexts(
  moderations: Moderations,
  asked: readonly Asked[],
  remembered: Remembered | undefined,
  signal: GuardedCall["signal"],
): Promise<Flagged | undefined> {
  const before = asked.map(({ text }) => remembered?.of("text", text));
  const news = asked.filter((_, i) => !before[i]).map(({ text }) => text);
  const said = news.length > 0 ? await moderations.ask(news, signal) : [];
  const complete = said.length === news.length;
  if (complete) {
    for (const [i, result] of said.entries()) remembered?.add("text", news[i] ?? "", result);
  }
  const told = said.values();
  const results = complete
    ? before.map((known) => known ?? (told.next().value as ModerationResult))
    : [...said, ...before.filter((known) => known !== undefined)];
  const flagged = results.findIndex((result) => result.flagged);
  // Of some nobody says anything: a server that takes one text only.
  if (flagged < 0 && said.length < news.length) throw noVerdict();
  if (flagged < 0) return undefined;
  const found = results.flatMap(({ categories }) => categories);
  return { found, field: complete ? asked[flagged]?.field : undefined };
}

async function ofImage(
  moderations: Moderations,
  { field, url }: GuardedImage,
  remembered: Remembered | undefined,
  signal: GuardedCall["signal"],
): Promise<Flagged | undefined> {
  // Behind an address may be another one next time.
  const known = url.startsWith("data:") ? remembered : undefined;
  const askAbout = async () => {
    const said = await moderations.ask([imageInput(url)], signal).catch((thrown: unknown) => {
      throw of(field, thrown);
    });
    const [only] = said;
    if (only && said.length === 1) known?.add("image", url, only);
    return said;
  };
  const before = known?.of("image", url);
  const results = before ? [before] : await askAbout();
  const found = results.flatMap(({ categories }) => categories);
  return results.some(({ flagged }) => flagged) ? { found, field } : undefined;
}

/** Why a question about one field failed, with that. What the server refuses, nobody can look at; its words are for the log. */
function of(param: string, thrown: unknown): LintelError {
  const { code, message } = toLintelError(thrown);
  const words = code === "invalid_value" ? "its server refuses it" : message;
  return new LintelError(code, words, { param, cause: thrown });
}

/** Texts that follow each other and are of one field, as the strings of arguments are, are one. */
function byField(texts: readonly GuardedText[]): Asked[] {
  const asked: Asked[] = [];
  for (const { field, before = "", text } of texts) {
    const last = asked.at(-1);
    if (last?.field !== field) asked.push({ field, text: before + text });
    else asked[asked.length - 1] = { ...last, text: `${last.text}\n${text}` };
  }
  return asked;
}
