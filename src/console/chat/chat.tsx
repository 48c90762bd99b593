/** Conversations with a model. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Composer } from "../composer.js";
import { curlFor } from "../curl.js";
import type { Gateway } from "../gateway.js";
import { nextId } from "../ids.js";
import { Alert, Copy } from "../notes.js";
import type { Model } from "../wire.js";
import { answer, requestFor, type Turn } from "./conversation.js";
import { TurnView } from "./message.js";
import { paced } from "./pace.js";
import { type ChatForm, ChatSettings, settingsOf } from "./settings.js";

/** @param form is kept outside, so that the list of models can choose one */
export function Chat({
  gateway,
  models: known,
  form,
  onForm,
}: {
  readonly gateway: Gateway;
  /** Absent: not known yet. */
  readonly models: readonly Model[] | undefined;
  readonly form: ChatForm;
  readonly onForm: (form: ChatForm) => void;
}) {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [draft, setDraft] = useState("");
  const [pictures, setPictures] = useState<readonly string[]>([]);
  const [running, setRunning] = useState<AbortController>();
  const written = useRef<HTMLTextAreaElement>(null);
  const last = useRef<HTMLDivElement>(null);
  const models = known ?? [];
  const model = models.find(({ id }) => id === form.model);
  const looks = model?.supports.includes("image_url") ?? false;
  const request = (said: readonly Turn[]) => requestFor(said, form.system, settingsOf(form, model));
  const asked = turns.at(-1)?.role === "assistant" ? turns.slice(0, -1) : turns;
  // Who reads what was said before is left where they are.
  useEffect(() => {
    const below = document.body.scrollHeight - innerHeight - scrollY;
    if (below < nearEnd) last.current?.scrollIntoView({ block: "nearest" });
  }, [turns]);

  /** Has the model answer to these turns, in place of all that came after them. */
  async function ask(said: readonly Turn[]) {
    const leaving = new AbortController();
    const empty: Turn = {
      ...{ id: nextId(), role: "assistant", text: "", images: [], thoughts: "" },
      course: { warnings: [] },
    };
    setRunning(leaving);
    setTurns([...said, empty]);
    const { next, end } = paced((now: Turn) => setTurns([...said, now]));
    await answer(gateway, request(said), empty, next, leaving.signal);
    end();
    setRunning(undefined);
    written.current?.focus();
  }

  function send() {
    const text = draft.trim();
    if (running || (text === "" && pictures.length === 0)) return;
    const own: Turn = { id: nextId(), role: "user", text, images: pictures, thoughts: "" };
    setDraft("");
    setPictures([]);
    void ask([...turns, own]);
  }

  function edit(index: number) {
    const { text, images } = turns[index] as Turn;
    setDraft(text);
    setPictures(images);
    setTurns(turns.slice(0, index));
    written.current?.focus();
  }

  return (
    <div class="split">
      <section class="main">
        <div class="turns" aria-live="polite">
          {turns.length === 0 && (
            <p class="empty">What you say goes to {form.model || "a model"}.</p>
          )}
          {turns.map((turn, index) => (
            <TurnView
              key={turn.id}
              turn={turn}
              busy={running !== undefined}
              onEdit={() => edit(index)}
              onRetry={() => void ask(turns.slice(0, index))}
            />
          ))}
          <div ref={last} />
        </div>
        {known?.length === 0 && <Alert text="There is no model that chats." />}
        <Composer
          label="Message"
          placeholder="Enter sends, Shift and Enter begin a line"
          value={draft}
          onChange={setDraft}
          onSend={send}
          written={written}
          above={pictures.map((url, index) => (
            <button
              key={index}
              type="button"
              class="picture"
              title="Take away"
              onClick={() => setPictures(pictures.filter((_, at) => at !== index))}
            >
              <img src={url} alt="to be shown" />
            </button>
          ))}
        >
          {running ? (
            <button type="button" onClick={() => running.abort()}>
              Stop
            </button>
          ) : (
            <button type="submit" disabled={models.length === 0}>
              Send
            </button>
          )}
          {looks && <Pictures onAdd={(urls) => setPictures([...pictures, ...urls])} />}
          <Copy label="Copy as curl" text={curlFor("llm", request(asked))} />
          <button
            type="button"
            class="quiet"
            disabled={running !== undefined || turns.length === 0}
            onClick={() => setTurns([])}
          >
            New conversation
          </button>
        </Composer>
      </section>
      <ChatSettings form={form} models={models} onChange={onForm} />
    </div>
  );
}

/** A button that has files of pictures read. */
const Pictures = ({ onAdd }: { readonly onAdd: (urls: readonly string[]) => void }) => (
  <label class="button quiet">
    Add pictures
    <input
      type="file"
      accept="image/png,image/jpeg,image/webp,image/gif"
      multiple
      onChange={async ({ currentTarget }) => {
        const files = [...(currentTarget.files ?? [])];
        currentTarget.value = "";
        onAdd(await Promise.all(files.map(dataUrlOf)));
      }}
    />
  </label>
);

const dataUrlOf = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

/** How far from its end somebody still looks at the end of a page, pixels. */
const nearEnd = 200;
