/** The tokens that the page calls with, as this browser keeps them. */

/** One of them. */
interface Kept {
  /** What was said before; `undefined`: nothing. */
  kept(): string | undefined;
  /** @param lasting whether it outlives the tab */
  keep(token: string, lasting: boolean): void;
  forget(): void;
}

const keptAs = (name: string): Kept => ({
  kept: () => sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? undefined,
  keep(token, lasting) {
    this.forget();
    (lasting ? localStorage : sessionStorage).setItem(name, token);
  },
  forget() {
    sessionStorage.removeItem(name);
    localStorage.removeItem(name);
  },
});

/** An administrator's. */
export const adminToken = keptAs("lintel.admin-token");

/** A caller's. */
export const callerToken = keptAs("lintel.token");

const madeUp = "browser-";

/** Whether nobody said it. */
export const isMadeUp = (token: string): boolean => token.startsWith(madeUp);

/** The caller's; else one that is made up, which opens gateways that take any. */
export function someToken(): string {
  const kept = callerToken.kept();
  if (kept !== undefined) return kept;
  // One of its own for each browser, which so shares no limits with others.
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  const made = `${madeUp}${[...bytes].map((byte) => byte.toString(36)).join("")}`;
  callerToken.keep(made, true);
  return made;
}
