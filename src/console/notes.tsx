/** What a person is told beside what was asked for. */

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

/** A button that puts a text into the clipboard. */
export const Copy = ({
  text,
  label = "Copy",
}: {
  readonly text: string;
  readonly label?: string;
}) =>
  // Pages that came by plain HTTP from another machine have no clipboard.
  navigator.clipboard && (
    <button type="button" class="quiet" onClick={() => navigator.clipboard.writeText(text)}>
      {label}
    </button>
  );
