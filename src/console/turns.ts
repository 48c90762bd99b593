/**
 * Whose turn it is to renew a sign-in. A tab that is duplicated takes along what is kept in it, and a refresh token may
 * count once alone: issuers that see it a second time end the sign-in for everybody. So each has a turn, which the first
 * tab takes; what is kept of it, for the whole browser, is a time and a number of chance. By IndexedDB, which knows one
 * first whatever tabs sleep or are put away, also without HTTPS.
 */

/** How long a turn that was taken is known, milliseconds: who comes with it later asks the issuer. */
const knownMs = 30 * 86_400_000;

/** Names a turn; those of later are behind those of before. */
export function newTurn(): string {
  const [chance = 0, more = 0] = crypto.getRandomValues(new Uint32Array(2));
  return `${new Date().toISOString()} ${chance.toString(36)}${more.toString(36)}`;
}

/** @returns whether it is this tab's; also where the browser lets nothing be kept, for then nobody knows */
export async function takeTurn(turn: string): Promise<boolean> {
  try {
    await change((turns) => {
      const before = new Date(Date.now() - knownMs).toISOString();
      turns.delete(IDBKeyRange.upperBound(before));
      turns.add(true, turn);
    });
    return true;
  } catch (error) {
    return (error as DOMException | null)?.name !== "ConstraintError";
  }
}

/** What was taken was not used. */
export const giveTurnBack = (turn: string): Promise<void> =>
  change((turns) => void turns.delete(turn)).catch(() => {});

const store = "turns";

async function change(how: (turns: IDBObjectStore) => void): Promise<void> {
  const database = await opened();
  try {
    await new Promise<void>((resolve, reject) => {
      const transaction = database.transaction(store, "readwrite");
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
      how(transaction.objectStore(store));
    });
  } finally {
    database.close();
  }
}

const opened = (): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const asked = indexedDB.open("lintel", 1);
    asked.onupgradeneeded = () => void asked.result.createObjectStore(store);
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
