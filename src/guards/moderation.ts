/** The moderation endpoint of an OpenAI-compatible API as a guard of texts and images. */
import type { GuardedCall, GuardedImage, GuardedText } from "../core/guards/guard.js";
import {
  imageInput,
  type ModerationSettings,
  Moderations,
  noVerdict,
} from "../safety/moderations.js";
import type { OwnedChecker } from "./open.js";

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

/** Asks about all texts of a call in one request, and about each image in one: it takes no more. */
export function moderationGuard(
  settings: ModerationSettings & { readonly action: "block" | "flag" },
): OwnedChecker {
  const moderations = new Moderations(settings);
  return {
    async check(texts, { signal }, images = []) {
      const said = await Promise.allSettled([
        texts.length > 0 ? ofTexts(moderations, byField(texts), signal) : undefined,
        ...images.map((image) => ofImage(moderations, image, signal)),
      ]);
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

async function ofTexts(
  moderations: Moderations,
  asked: readonly Asked[],
  signal: GuardedCall["signal"],
): Promise<Flagged | undefined> {
  const results = await moderations.ask(
    asked.map(({ text }) => text),
    signal,
  );
  const flagged = results.findIndex((result) => result.flagged);
  // Of some nobody says anything: a server that takes one text only.
  if (flagged < 0 && results.length < asked.length) throw noVerdict();
  if (flagged < 0) return undefined;
  const found = results.flatMap(({ categories }) => categories);
  return { found, field: results.length === asked.length ? asked[flagged]?.field : undefined };
}

async function ofImage(
  moderations: Moderations,
  { field, url }: GuardedImage,
  signal: GuardedCall["signal"],
): Promise<Flagged | undefined> {
  const results = await moderations.ask([imageInput(url)], signal);
  const found = results.flatMap(({ categories }) => categories);
  return results.some(({ flagged }) => flagged) ? { found, field } : undefined;
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
