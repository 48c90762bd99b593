/** The moderation endpoint of an OpenAI-compatible API as a guard of texts. */
import type { GuardedText } from "../core/guards/guard.js";
import { type ModerationSettings, Moderations, noVerdict } from "../safety/moderations.js";
import type { OwnedChecker } from "./open.js";

/** Texts of one field, which are asked about together. */
interface Asked {
  /** Of the first of them. */
  readonly at: number;
  readonly field: string;
  readonly text: string;
}

/** Asks about all texts of a call in one request. */
export function moderationGuard(
  settings: ModerationSettings & { readonly action: "block" | "flag" },
): OwnedChecker {
  const moderations = new Moderations(settings);
  return {
    async check(texts, { signal }) {
      const asked = byField(texts);
      const results = await moderations.ask(
        asked.map(({ text }) => text),
        signal,
      );
      const flagged = results.findIndex((result) => result.flagged);
      // Of some nobody says anything: a server that takes one text only.
      if (flagged < 0 && results.length < asked.length) throw noVerdict();
      if (flagged < 0) return { action: "pass" };
      const found = [...new Set(results.flatMap(({ categories }) => categories))];
      if (settings.action === "flag") return { action: "flag", found };
      const at = results.length === asked.length ? asked[flagged]?.at : undefined;
      return { action: "block", found, at };
    },
    close: () => moderations.close(),
  };
}

/** Texts that follow each other and are of one field, as the strings of arguments are, are one. */
function byField(texts: readonly GuardedText[]): Asked[] {
  const asked: Asked[] = [];
  for (const [at, { field, before = "", text }] of texts.entries()) {
    const last = asked.at(-1);
    if (last?.field !== field) asked.push({ at, field, text: before + text });
    else asked[asked.length - 1] = { ...last, text: `${last.text}\n${text}` };
  }
  return asked;
}
