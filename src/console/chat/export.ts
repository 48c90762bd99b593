/** Conversations as files. */
import type { Turn } from "./conversation.js";

/** A conversation for people, whose text is Markdown already. */
export function markdownOf(turns: readonly Turn[]): string {
  const parts = turns.map(({ role, text, attachments, images, course }) => {
    const drawn = images.map((url) => `![drawn](${url})`);
    const given = attachments.map(({ name }) => `(attached: ${name})`);
    const title = role === "user" ? "You" : (course?.model ?? "Model");
    return [`## ${title}`, text, ...given, ...drawn].filter((part) => part !== "").join("\n\n");
  });
  return `${parts.join("\n\n")}\n`;
}

/** Has the browser save a text. */
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers only begin to read it now.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
