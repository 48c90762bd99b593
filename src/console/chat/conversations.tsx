/** The conversations that there are, and what can be done with the one that is shown. */
import { useEffect, useState } from "preact/hooks";
import { Tick } from "../fields.js";
import { type Conversation, conversations, isLasting, keepLasting, titleOf } from "./kept.js";

/** @param changed another number whenever one was kept */
export function Conversations({
  shown,
  changed,
  busy,
  onOpen,
  onForget,
  onForgetAll,
}: {
  /** The one that is shown. */
  readonly shown: string;
  readonly changed: number;
  /** Whether an answer comes in, so that no other can be opened. */
  readonly busy: boolean;
  readonly onOpen: (conversation: Conversation) => void;
  readonly onForget: (id: string) => void;
  readonly onForgetAll: () => void;
}) {
  const [all, setAll] = useState(conversations);
  const [lasting, setLasting] = useState(isLasting);
  useEffect(() => setAll(conversations()), [changed]);
  // Other tabs keep theirs at the same place.
  useEffect(() => {
    const look = () => {
      setAll(conversations());
      setLasting(isLasting());
    };
    addEventListener("storage", look);
    return () => removeEventListener("storage", look);
  }, []);
  return (
    <details class="conversations">
      <summary>Conversations ({all.length})</summary>
      <ul>
        {all.map((one) => (
          <li key={one.id}>
            <button
              type="button"
              class="link"
              disabled={busy}
              aria-current={one.id === shown ? "true" : undefined}
              title={new Date(one.at).toLocaleString()}
              onClick={() => onOpen(one)}
            >
              {titleOf(one)}
            </button>
            <button
              type="button"
              class="quiet"
              disabled={busy}
              aria-label={`Forget “${titleOf(one)}”`}
              onClick={() => onForget(one.id)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <Tick
        label="Keep them in this browser"
        checked={lasting}
        onChange={(yes) => {
          keepLasting(yes);
          setLasting(yes);
        }}
      />
      <p class="hint">
        {lasting
          ? "Whoever uses this browser can read them."
          : "They are forgotten when the tab is closed."}
      </p>
      <button
        type="button"
        class="quiet danger"
        disabled={busy || all.length === 0}
        onClick={() => confirm("Forget all conversations, and these settings?") && onForgetAll()}
      >
        Forget all
      </button>
    </details>
  );
}
