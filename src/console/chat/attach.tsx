/** What goes with the next message. */
import { Warnings } from "../notes.js";
import type { Model } from "../wire.js";
import { type Attachment, bytesOf, choiceOf, refusedBy } from "./attachments.js";

/** A button that has files read. */
export function Attach({
  model,
  onFiles,
}: {
  readonly model: Model;
  readonly onFiles: (files: readonly File[]) => void;
}) {
  const { accept, told } = choiceOf(model);
  return (
    <label class="button quiet" title={`${told}; also pasted, or dropped here`}>
      Attach
      <input
        type="file"
        accept={accept}
        multiple
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
    </label>
  );
}

/** What is attached, each with a button that takes it away, and what the model will not take. */
export const Attached = ({
  given,
  model,
  onChange,
}: {
  readonly given: readonly Attachment[];
  readonly model: Model | undefined;
  readonly onChange: (given: readonly Attachment[]) => void;
}) =>
  given.length > 0 && (
    <div class="attached">
      {given.map((one, index) => (
        <span key={index} class="attachment">
          <Shown attachment={one} alt="to be shown" />
          <small>{sizeOf(bytesOf(one))}</small>
          <button
            type="button"
            class="quiet"
            aria-label={`Take ${one.name} away`}
            onClick={() => onChange(given.filter((_, at) => at !== index))}
          >
            ×
          </button>
        </span>
      ))}
      {model && <Warnings texts={refusedBy(model, given)} />}
    </div>
  );

/** An attachment, as it is seen. */
export const Shown = ({
  attachment: { kind, name, url },
  alt,
}: {
  readonly attachment: Attachment;
  readonly alt: string;
}) =>
  kind === "image" ? (
    <img class="shown" src={url} alt={alt} title={name} />
  ) : (
    <span class="file">{name}</span>
  );

const sizeOf = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
