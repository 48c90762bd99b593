/** One turn of a conversation, as it is shown. */
import { Markdown } from "../markdown/markdown.js";
import { Alert, Copy, Warnings } from "../notes.js";
import { rateOf, seconds } from "../time.js";
import { Shown } from "./attach.js";
import type { Course, Turn } from "./conversation.js";
import { Tokens } from "./tokens.js";

interface Seen {
  readonly turn: Turn;
  /** Whether an answer comes in, so that nothing can be asked. */
  readonly busy: boolean;
  /** Of what a person said: takes it back into the field where it was written. */
  readonly onEdit: () => void;
  /** Of an answer: has another one made. */
  readonly onRetry: () => void;
}

/** What was said, what was thought before, how it went, and what can be done with it. */
export function TurnView({ turn, busy, onEdit, onRetry }: Seen) {
  const { role, text, images, attachments, thoughts, tokens = [], course } = turn;
  const own = role === "user";
  const running = course !== undefined && course.total === undefined;
  return (
    <article class={`turn ${role}`} aria-label={own ? "You" : "Model"} aria-busy={running}>
      <h2 class="unseen">{own ? "You" : "Model"}</h2>
      {thoughts !== "" && (
        <details class="thoughts" open={running && text === ""}>
          <summary>Thoughts</summary>
          <p class="prose">{thoughts}</p>
        </details>
      )}
      {own ? <p class="prose">{text}</p> : <Markdown text={text} more={running} />}
      {tokens.length > 0 && <Tokens tokens={tokens} />}
      {images.map((url, index) => (
        <img key={index} class="shown" src={url} alt="drawn by the model" />
      ))}
      {attachments.length > 0 && (
        <div class="attached">
          {attachments.map((one, index) => (
            <Shown key={index} attachment={one} alt="shown to the model" />
          ))}
        </div>
      )}
      {running && text === "" && thoughts === "" && <p class="waiting">…</p>}
      {course?.error !== undefined && <Alert text={course.error} />}
      {course && <Warnings texts={course.warnings} />}
      {!running && (
        <footer>
          {course && <span class="course">{courseIn(course)}</span>}
          {text !== "" && <Copy text={text} />}
          <button type="button" class="quiet" disabled={busy} onClick={own ? onEdit : onRetry}>
            {own ? "Edit" : "Again"}
          </button>
        </footer>
      )}
    </article>
  );
}

/** How an answer went, in a line. */
function courseIn({ model, first, total, finish, usage, estimated }: Course): string {
  const told: string[] = model === undefined ? [] : [model];
  if (usage) {
    const about = estimated ? "about " : "";
    told.push(`${about}${usage.prompt_tokens} + ${usage.completion_tokens} tokens`);
  }
  if (first !== undefined) told.push(`first after ${seconds(first)} s`);
  if (usage && total !== undefined && first !== undefined) {
    const rate = rateOf(usage.completion_tokens, total - first);
    if (rate !== undefined) told.push(`${rate} tokens/s`);
  }
  if (finish === "length") told.push("cut off: raise “Most tokens”");
  else if (finish !== undefined && finish !== "stop") told.push(finish);
  return told.join(" · ");
}
