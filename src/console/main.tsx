/** The page that a gateway shows in a browser: what it does, to try and to look at. */
import { render } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { Account, TokenForm } from "./account.js";
import { Administration } from "./admin/admin.js";
import { Chat } from "./chat/chat.js";
import { emptyForm as emptyChat } from "./chat/form.js";
import { forgetAll, formBefore } from "./chat/kept.js";
import { gatewayFor, modelsOf, wordsOf } from "./gateway.js";
import { Images } from "./images/images.js";
import { emptyForm as emptyImage } from "./images/settings.js";
import { Models } from "./models.js";
import { Alert } from "./notes.js";
import {
  finishSignIn,
  forgetSession,
  sessionToken,
  signedInBy,
  takeLeftWith,
  takeReturned,
  waysIn,
} from "./session.js";
import { SignIn } from "./sign-in.js";
import { callerToken, isMadeUp, someToken } from "./token.js";
import type { Model } from "./wire.js";

/** What the address that the page came from serves: `calls`, `administration`, or both. */
const serves = (document.body.dataset.serves ?? "").split(" ");

const ofCalls = ["chat", "images", "models", "account"] as const;
type View = (typeof ofCalls)[number] | "administration";
const views: readonly View[] = [
  ...(serves.includes("calls") ? ofCalls : []),
  ...(serves.includes("administration") ? (["administration"] as const) : []),
];

const viewNow = (): View | undefined =>
  views.find((one) => location.hash === `#${one}`) ?? views[0];

/** @param failed what went wrong with a sign-in */
function App({ failed }: { readonly failed: string | undefined }) {
  const [view, setView] = useState(viewNow);
  const [problem, setProblem] = useState(failed);
  const [left, setLeft] = useState(0);
  useEffect(() => {
    const changed = () => setView(viewNow());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const leave = (words: string | undefined) => {
    setProblem(words);
    // What was theirs goes with them.
    forgetAll();
    setLeft(left + 1);
  };
  return (
    <>
      <header class="top">
        <h1>Lintel</h1>
        <nav aria-label="Views">
          {views.map((one) => (
            <a key={one} href={`#${one}`} aria-current={one === view ? "page" : undefined}>
              {one}
            </a>
          ))}
        </nav>
      </header>
      <main>
        {problem !== undefined && <Alert text={problem} />}
        {serves.includes("calls") && <Calls key={left} view={view} onOut={leave} />}
        {view === "administration" && <Administration />}
      </main>
    </>
  );
}

/** What callers do. All of it stays while somebody looks at another part. */
function Calls({
  view,
  onOut,
}: {
  readonly view: View | undefined;
  readonly onOut: (problem: string | undefined) => void;
}) {
  // Empty: who signed in calls.
  const [token, setToken] = useState(() => (signedInBy() === undefined ? someToken() : ""));
  const [refused, setRefused] = useState<string>();
  const [models, setModels] = useState<readonly Model[]>();
  const [error, setError] = useState<string>();
  const [chat, setChat] = useState(() => formBefore(emptyChat));
  const [image, setImage] = useState(emptyImage);
  const gateway = useMemo(
    () => gatewayFor(token === "" ? sessionToken : () => token, setRefused),
    [token],
  );

  const look = useCallback(() => {
    modelsOf(gateway).then(
      (all) => {
        setModels(all);
        setError(undefined);
        setRefused(undefined);
        setChat((form) => ({ ...form, model: chosen(all.filter(chats), form.model) }));
        setImage((form) => ({ ...form, model: chosen(all.filter(draws), form.model) }));
      },
      (reason) => setError(wordsOf(reason)),
    );
  }, [gateway]);
  useEffect(look, [look]);
  // What a model takes is known once it is loaded.
  useEffect(() => {
    if (!models?.some(({ state }) => state === "STATE_LOADING")) return;
    const again = setTimeout(look, 1000);
    return () => clearTimeout(again);
  }, [models, look]);

  const take = (said: string, keep: boolean) => {
    forgetSession();
    callerToken.keep(said, keep);
    setRefused(undefined);
    setToken(said);
  };
  const use = (model: Model) => {
    if (chats(model)) setChat({ ...chat, model: model.id });
    else setImage({ ...image, model: model.id });
    location.hash = chats(model) ? "chat" : "images";
  };

  if (view === undefined) return null;
  if (refused !== undefined && view !== "administration") {
    return (
      <section class="wide">
        <p>This gateway wants {waysIn.length > 0 && "you to sign in, or "}a token that it knows.</p>
        {!(waysIn.length > 0 && isMadeUp(token)) && <Alert text={refused} />}
        <SignIn onOut={onOut} />
        <TokenForm token="" onToken={take} />
      </section>
    );
  }
  return (
    <>
      {error !== undefined && view !== "administration" && <Alert text={error} />}
      <div hidden={view !== "chat"}>
        <Chat gateway={gateway} models={models?.filter(chats)} form={chat} onForm={setChat} />
      </div>
      <div hidden={view !== "images"}>
        <Images gateway={gateway} models={models?.filter(draws)} form={image} onForm={setImage} />
      </div>
      <div hidden={view !== "models"}>
        <Models models={models ?? []} onUse={use} onRefresh={look} />
      </div>
      <div hidden={view !== "account"}>
        <Account {...{ gateway, token, onOut }} shown={view === "account"} onToken={take} />
      </div>
    </>
  );
}

const draws = ({ task }: Model): boolean => task === "TASK_TEXT_TO_IMAGE";
const chats = (model: Model): boolean => !draws(model);

/** The model that was chosen before, if it is still there, else what an empty name means. */
function chosen(models: readonly Model[], before: string): string {
  const known = models.find(({ id }) => id === before);
  return (known ?? models.find(({ is_default }) => is_default) ?? models[0])?.id ?? "";
}

const returned = takeReturned();
if (returned) render(<main class="wide">Signing in…</main>, document.body);
const left = takeLeftWith();
const failed = returned ? await finishSignIn(returned) : left;
render(<App failed={failed} />, document.body);
