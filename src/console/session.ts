/**
 * Who signed in, in this tab: what the issuer gave is kept until the tab is closed, and nowhere else. The gateway asks the
 * issuer; this page speaks to its gateway alone.
 */
import { Failure, postFreely, wordsOf } from "./gateway.js";
import { giveTurnBack, newTurn, takeTurn } from "./turns.js";

/** The ways to sign in, by what their buttons say. */
export const waysIn: readonly string[] = JSON.parse(document.body.dataset.signIn ?? "[]");

/** What a sign-in gives, as the gateway answers. */
interface Given {
  readonly token: string;
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token?: string;
  /** Of a renewal: absent where the one before goes on counting. */
  readonly id_token?: string | undefined;
}

/** Somebody who is signed in. */
interface Session extends Given {
  /** The way that they came. */
  readonly name: string;
  /** By the clock of this browser, milliseconds. */
  readonly endsAt: number;
  /** That of using its refresh token. */
  readonly turn: string;
}

/** A sign-in that was begun here. */
interface Begun {
  readonly name: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** The part of the page that somebody looked at. */
  readonly view: string;
}

/** How long ahead of its end a token is renewed, milliseconds; of one that is short a third. */
const aheadMs = 60_000;

const page = location.origin + location.pathname;

const tab = <T>(key: string) => ({
  get: (): T | undefined => JSON.parse(sessionStorage.getItem(key) ?? "null") ?? undefined,
  set: (value: T) => sessionStorage.setItem(key, JSON.stringify(value)),
  forget: () => sessionStorage.removeItem(key),
});
const begun = tab<Begun>("lintel.sign-in");
const session = tab<Session>("lintel.session");
/** What went wrong with signing out, while the issuer's page is looked at. */
const leftWith = tab<string>("lintel.signed-out");

/** The way by which somebody signed in; `undefined`: nobody did. */
export const signedInBy = (): string | undefined => session.get()?.name;

/** Nobody is signed in any more here. */
export const forgetSession = session.forget;

/** Leaves the page for the issuer's. @throws Failure */
export async function signIn(name: string): Promise<void> {
  type Answer = Omit<Begun, "name" | "view"> & { readonly url: string };
  const { url, ...kept } = await postFreely<Answer>("sign-in/begin", { name, page });
  begun.set({ name, ...kept, view: location.hash });
  location.assign(url);
}

/** What the issuer sent somebody back with, which is in the page's address no longer; `undefined`: nothing. */
export function takeReturned(): URLSearchParams | undefined {
  const told = new URLSearchParams(location.search);
  if (!told.has("state") || !(told.has("code") || told.has("error"))) return undefined;
  history.replaceState(null, "", page + (begun.get()?.view ?? ""));
  return told;
}

/** Ends a sign-in. @returns what went wrong; `undefined`: somebody is signed in */
export async function finishSignIn(told: URLSearchParams): Promise<string | undefined> {
  const was = begun.get();
  // Once only, however it ends.
  begun.forget();
  if (was === undefined || told.get("state") !== was.state) {
    return "This is the end of a sign-in that was not begun in this tab: nothing was done with it. Sign in again.";
  }
  const { name, nonce, verifier } = was;
  const said = (key: string) => told.get(key) ?? undefined;
  // The gateway knows whose answer this is, also where it is none that was hoped for.
  const refused = { error: said("error"), error_description: said("error_description") };
  const returned = {
    ...{ name, page, nonce, verifier, iss: said("iss") },
    ...(refused.error === undefined ? { code: said("code") } : refused),
  };
  try {
    session.set(sessionOf(name, await postFreely<Given>("sign-in/finish", returned)));
    return undefined;
  } catch (reason) {
    return `You are not signed in: ${wordsOf(reason)}`;
  }
}

/** What calls are made with; it is renewed where it ends soon. @throws Failure 401 once it can't be */
export function sessionToken(): string | Promise<string> {
  const now = session.get();
  if (!now) throw ended();
  const ahead = Math.min(aheadMs, (now.expires_in * 1000) / 3);
  if (Date.now() < now.endsAt - ahead) return now.token;
  if (now.refresh_token !== undefined) {
    renewing ??= renew(now, now.refresh_token).finally(() => {
      renewing = undefined;
    });
    return renewing.then(({ token }) => {
      if (signedInBy() === undefined) throw ended();
      return token;
    });
  }
  if (Date.now() < now.endsAt) return now.token;
  session.forget();
  throw ended();
}

/** For all calls that wait for it: a refresh token counts once. */
let renewing: Promise<Session> | undefined;

/** @returns what counts from now on, also where somebody signed out meanwhile */
async function renew(now: Session, refreshToken: string): Promise<Session> {
  const { name, id_token, turn } = now;
  if (!(await takeTurn(turn))) {
    if (Date.now() < now.endsAt) return now;
    forget(now);
    throw ended("it went on in another tab, of which this one is a copy");
  }
  try {
    const asked = { name, page, refresh_token: refreshToken, id_token };
    const given = await postFreely<Given>("sign-in/renew", asked);
    const same = given.refresh_token === refreshToken;
    if (same) await giveTurnBack(turn);
    const next = { ...sessionOf(name, { id_token, ...given }), ...(same && { turn }) };
    // Who signed out meanwhile is not signed in again.
    if (session.get()?.token === now.token) session.set(next);
    return next;
  } catch (reason) {
    const { status } = reason as Failure;
    const away = status === 0 || status === 429 || status >= 500;
    if (away) await giveTurnBack(turn);
    if (away && Date.now() < now.endsAt) return now;
    if (away) throw reason;
    forget(now);
    throw ended(wordsOf(reason));
  }
}

/** Nobody is signed in any more by this, unless somebody is by another since. */
function forget({ token }: Session): void {
  if (session.get()?.token === token) session.forget();
}

/**
 * Signs out here, and leaves for the issuer's page where one signs out there.
 * @returns what went wrong there; `undefined`: nothing, or the page is left
 */
export async function signOut(): Promise<string | undefined> {
  const now = session.get();
  session.forget();
  if (!now) return undefined;
  // Of a renewal that is on its way the issuer has to end what that brings.
  const { name, refresh_token, id_token } = (await renewing?.catch(() => undefined)) ?? now;
  try {
    const asked = { name, page, refresh_token, id_token };
    const { url, problem } = await postFreely<Ended>("sign-in/end", asked);
    const words = problem === undefined ? undefined : `You are signed out here, but ${problem}`;
    if (url === undefined) return words;
    if (words !== undefined) leftWith.set(words);
    location.assign(url);
    return words;
  } catch (reason) {
    return `You are signed out here, and may be signed in there: ${wordsOf(reason)}`;
  }
}

/** What the gateway answers to who leaves. */
interface Ended {
  /** The issuer's page. */
  readonly url?: string;
  /** What could not be done there. */
  readonly problem?: string;
}

/** What went wrong with signing out before the issuer's page sent somebody back; it is told once. */
export function takeLeftWith(): string | undefined {
  const words = leftWith.get();
  leftWith.forget();
  return words;
}

const sessionOf = (name: string, given: Given): Session => ({
  name,
  ...given,
  endsAt: Date.now() + given.expires_in * 1000,
  turn: newTurn(),
});

/** @param why absent: it was its time */
const ended = (why?: string): Failure =>
  new Failure(
    `your sign-in has ended${why === undefined ? "" : `: ${why}`}: sign in again`,
    401,
    "invalid_token",
  );
