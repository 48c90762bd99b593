/** Where somebody writes what is to be sent. */
import type { ComponentChildren, Ref } from "preact";

/** A text that Enter sends, with what stands above it and the buttons below. */
export const Composer = ({
  label,
  placeholder,
  value,
  onChange,
  onSend,
  onFiles,
  written,
  above,
  children,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly onSend: () => void;
  /** Hears of files that are pasted. */
  readonly onFiles?: (files: readonly File[]) => void;
  readonly written?: Ref<HTMLTextAreaElement>;
  readonly above?: ComponentChildren;
  readonly children: ComponentChildren;
}) => (
  <form
    class="composer"
    onSubmit={(event) => {
      event.preventDefault();
      onSend();
    }}
  >
    {above}
    <textarea
      ref={written}
      rows={3}
      value={value}
      aria-label={label}
      placeholder={placeholder}
      onInput={(event) => onChange(event.currentTarget.value)}
      onPaste={(event) => {
        const { files = [], types = [] } = event.clipboardData ?? {};
        // Programs of offices give a picture of the text with it.
        if (!onFiles || files.length === 0 || types.includes("text/plain")) return;
        event.preventDefault();
        onFiles([...files]);
      }}
      onKeyDown={(event) => {
        // What is put together of several keys ends with Enter, too.
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        onSend();
      }}
    />
    <div class="actions">{children}</div>
  </form>
);
