/** A token that was made, told once. */
import { Copy, Warnings } from "./notes.js";

/** @param onSeen hears that somebody has it */
export const Secret = ({
  name,
  secret,
  warnings = [],
  onSeen,
}: {
  readonly name: string;
  readonly secret: string;
  readonly warnings?: readonly string[] | undefined;
  readonly onSeen: () => void;
}) => (
  <div class="secret" role="status">
    <p>The token of {name}. It is told this once:</p>
    <code>{secret}</code>
    <Warnings texts={warnings} />
    <div class="actions">
      <Copy text={secret} />
      <button type="button" class="quiet" onClick={onSeen}>
        Done
      </button>
    </div>
  </div>
);
