/** What a person is told beside what was asked for. */
import { useEffect, useState } from "preact/hooks";

/** That something failed. */
export const Alert = ({ text }: { readonly text: string }) => (
  <p class="alert" role="alert">
    {text}
  </p>
);

/** What the gateway warns of. */
export const Warnings = ({ texts }: { readonly texts: readonly string[] }) =>
  texts.length > 0 && (
    <ul class="warnings">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );

/** A button that puts a text into the clipboard, and says so. */
export function Copy({
  text,
  label = "Copy",
}: {
  /** A function where it takes a while to make. */
  readonly text: string | (() => string);
  readonly label?: string;
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const later = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(later);
  }, [copied]);
  // Pages that came by plain HTTP from another machine have no clipboard.
  if (!navigator.clipboard) return null;
  return (
    <button
      type="button"
      class="quiet"
      onClick={() =>
        navigator.clipboard
          .writeText(typeof text === "string" ? text : text())
          .then(() => setCopied(true))
      }
    >
      {copied ? "Copied" : label}
    </button>
  );
}
