/** Where somebody writes what is to be sent. */
import type { ComponentChildren, Ref } from "preact";
import { useEffect, useState } from "preact/hooks";

/**
 * A text that Enter sends, with what stands above it and the buttons below.
 * Where it is sent before it can be, it goes as soon as it can.
 */
export function Composer({
  label,
  placeholder,
  value,
  sendable,
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
  /** Not so while it is not known what there is to send it to. */
  readonly sendable: boolean;
  readonly onChange: (value: string) => void;
  readonly onSend: () => void;
  /** Hears of files that are pasted. */
  readonly onFiles?: (files: readonly File[]) => void;
  readonly written?: Ref<HTMLTextAreaElement>;
  readonly above?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const [waits, setWaits] = useState(false);
  useEffect(() => {
    if (!waits || !sendable) return;
    setWaits(false);
    onSend();
  }, [waits, sendable]);
  const send = () => (sendable ? onSend() : setWaits(true));
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {above}
      <textarea
        ref={written}
        rows={3}
        value={value}
        aria-label={label}
        placeholder={placeholder}
        onInput={(event) => {
          setWaits(false);
          onChange(event.currentTarget.value);
        }}
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
          send();
        }}
      />
      <div class="actions">{children}</div>
    </form>
  );
}
