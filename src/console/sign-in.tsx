/** Buttons by which people sign in, and out. */
import { useState } from "preact/hooks";
import { wordsOf } from "./gateway.js";
import { Alert } from "./notes.js";
import { signedInBy, signIn, signOut, waysIn } from "./session.js";

/** @param onOut hears that somebody signed out, and what went wrong with that */
export function SignIn({ onOut }: { readonly onOut: (problem: string | undefined) => void }) {
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const by = signedInBy();
  const go = (name: string) => {
    setBusy(true);
    setError(undefined);
    signIn(name).catch((reason) => {
      setError(wordsOf(reason));
      setBusy(false);
    });
  };
  const leave = () => {
    setBusy(true);
    void signOut().then(onOut);
  };
  return (
    <>
      {error !== undefined && <Alert text={error} />}
      <div class="actions">
        {by !== undefined && (
          <>
            Signed in by {by}.
            <button type="button" class="quiet" disabled={busy} onClick={leave}>
              Sign out
            </button>
          </>
        )}
        {by === undefined &&
          waysIn.map((name) => (
            <button key={name} type="button" disabled={busy} onClick={() => go(name)}>
              Sign in with {name}
            </button>
          ))}
      </div>
    </>
  );
}
