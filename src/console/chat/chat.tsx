/** Conversations with a model. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Composer } from "../composer.js";
import { curlFor } from "../curl.js";
import { type Gateway, wordsOf } from "../gateway.js";
import { Alert, Copy } from "../notes.js";
import type { Model } from "../wire.js";
import { Attach, Attached } from "./attach.js";
import { type Attachment, attachmentOf } from "./attachments.js";
import { answer, emptyTurn, requestFor, type Turn } from "./conversation.js";
import { Conversations } from "./conversations.js";
import { markdownOf, save } from "./export.js";
import { useFollowing } from "./follow.js";
import { type ChatForm, emptyForm, settingsOf } from "./form.js";
import * as kept from "./kept.js";
import { TurnView } from "./message.js";
import { paced } from "./pace.js";
import { ChatSettings } from "./settings.js";

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
  const [conversation, setConversation] = useState(kept.newConversation);
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [draft, setDraft] = useState("");
  const [given, setGiven] = useState<readonly Attachment[]>([]);
  const [running, setRunning] = useState<AbortController>();
  const [changed, setChanged] = useState(0);
  const [problem, setProblem] = useState<string>();
  const [said, setSaid] = useState("");
  const [dropping, setDropping] = useState(false);
  const written = useRef<HTMLTextAreaElement>(null);
  const shown = useRef<HTMLDivElement>(null);
  const models = known ?? [];
  const model = models.find(({ id }) => id === form.model);
  const request = (said: readonly Turn[]) => requestFor(said, form.system, settingsOf(form, model));
  const asked = turns.at(-1)?.role === "assistant" ? turns.slice(0, -1) : turns;
  const follow = useFollowing(shown, turns);
  useEffect(() => {
    const before = kept.shownBefore();
    if (before) open(before);
  }, []);
  useEffect(() => {
    if (form !== emptyForm) kept.keepForm(form);
  }, [form]);

  function open(one: kept.Conversation) {
    setConversation(one.id);
    follow();
    setTurns(kept.turnsOf(one));
    setProblem(undefined);
    kept.show(one.id);
  }

  function begin() {
    setConversation(kept.newConversation());
    setTurns([]);
    setProblem(undefined);
    kept.show("");
    written.current?.focus();
  }

  function keep(turns: readonly Turn[]) {
    const fits = kept.keep({ id: conversation, at: Date.now(), turns });
    kept.show(conversation);
    setProblem(fits ? undefined : "This conversation is too large to be kept.");
    setChanged((before) => before + 1);
  }

  /** Has the model answer to these turns, in place of all that came after them. */
  async function ask(before: readonly Turn[]) {
    const leaving = new AbortController();
    let now: Turn = { ...emptyTurn("assistant"), course: { warnings: [] } };
    const show = () => setTurns([...before, now]);
    setRunning(leaving);
    follow();
    setSaid("The model answers.");
    show();
    keep(before);
    const { next, end } = paced(show);
    const change = (turn: Turn) => {
      now = turn;
      next(undefined);
    };
    await answer(gateway, request(before), now, change, leaving.signal);
    end();
    keep([...before, now]);
    setRunning(undefined);
    setSaid(now.course?.error === undefined ? `The model answered: ${beginOf(now.text)}` : "");
    written.current?.focus();
  }

  function send() {
    const text = draft.trim();
    if (running || (text === "" && given.length === 0)) return;
    setDraft("");
    setGiven([]);
    void ask([...turns, { ...emptyTurn("user"), text, attachments: given }]);
  }

  function edit(index: number) {
    const { text, attachments } = turns[index] as Turn;
    setDraft(text);
    setGiven(attachments);
    setTurns(turns.slice(0, index));
    written.current?.focus();
  }

  async function attach(files: readonly File[]) {
    try {
      const more = await Promise.all(files.map(attachmentOf));
      setGiven((before) => [...before, ...more]);
      setProblem(undefined);
    } catch (error) {
      setProblem(wordsOf(error));
    }
  }

  return (
    <div class="split">
      <section
        class={dropping ? "main dropping" : "main"}
        aria-label="Conversation"
        onDragOver={(event) => {
          if (!event.dataTransfer?.types.includes("Files")) return;
          event.preventDefault();
          setDropping(true);
        }}
        onDragLeave={() => setDropping(false)}
        onDrop={(event) => {
          event.preventDefault();
          setDropping(false);
          void attach([...(event.dataTransfer?.files ?? [])]);
        }}
      >
        <div class="turns" ref={shown}>
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
        </div>
        {known?.length === 0 && <Alert text="There is no model that chats." />}
        {problem !== undefined && <Alert text={problem} />}
        <p class="unseen" role="status">
          {said}
        </p>
        <Composer
          label="Message"
          placeholder="Enter sends, Shift and Enter begin a line"
          value={draft}
          sendable={models.length > 0}
          onChange={setDraft}
          onSend={send}
          onFiles={(files) => void attach(files)}
          written={written}
          above={<Attached given={given} model={model} onChange={setGiven} />}
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
          {model && <Attach model={model} onFiles={(files) => void attach(files)} />}
          <Copy label="Copy as curl" text={() => curlFor("llm", request(asked))} />
          {turns.length > 0 && (
            <>
              <button
                type="button"
                class="quiet"
                onClick={() => save("conversation.md", "text/markdown", markdownOf(turns))}
              >
                Save
              </button>
              <button
                type="button"
                class="quiet"
                title="The request, as JSON"
                onClick={() =>
                  save("request.json", "application/json", JSON.stringify(request(asked), null, 2))
                }
              >
                Save request
              </button>
            </>
          )}
          <button
            type="button"
            class="quiet"
            disabled={running !== undefined || turns.length === 0}
            onClick={begin}
          >
            New conversation
          </button>
        </Composer>
      </section>
      <div class="side">
        <Conversations
          shown={conversation}
          changed={changed}
          busy={running !== undefined}
          onOpen={open}
          onForget={(id) => {
            kept.forget(id);
            setChanged(changed + 1);
            if (id === conversation) begin();
          }}
          onForgetAll={() => {
            kept.forgetAll();
            setChanged(changed + 1);
            onForm({ ...emptyForm, model: form.model });
            begin();
          }}
        />
        <ChatSettings form={form} models={models} onChange={onForm} />
      </div>
    </div>
  );
}

/** As much of an answer as somebody wants to hear read out unasked. */
const beginOf = (text: string): string => (text.length > 300 ? `${text.slice(0, 299)}…` : text);
