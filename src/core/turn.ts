/**
 * The end of a turn of the event loop, when all that it brought has been read. What came
 * together is worked on together, and what is written is written together:
 *
 * - What is written to a socket wakes who reads there, on another core. That one comes with
 *   its next message before the turn is through, alone, and turns get shorter until each
 *   reads one message; to wake somebody for each costs more than all the work on it.
 * - All steps for one message, then all for the next, are more than the processor's caches
 *   hold; one step done for all messages seems to find its code and its data there.
 *
 * What each brings stands in `bench/NOTES.md`.
 */

type Work = () => void;

/** A part of a turn's end: work that waits for it. */
class Phase {
  #waiting: Work[] = [];

  get empty(): boolean {
    return this.#waiting.length === 0;
  }

  add(work: Work): void {
    this.#waiting.push(work);
    schedule();
  }

  readonly run = () => {
    const all = this.#waiting;
    this.#waiting = [];
    for (const one of all) one();
  };
}

const arrivals = new Phase();
const due = new Phase();
const writes = new Phase();
let scheduled = false;

/** Works on what was read once all that came in this turn has been read. Work must not throw. */
export function afterReads(work: Work): void {
  arrivals.add(work);
}

/**
 * Does work behind all that follows from what was read in this turn, ahead of its writes.
 * Work must not throw.
 */
export function beforeWrites(work: Work): void {
  due.add(work);
}

/**
 * Writes at the end of this turn, behind its work and whatever follows from that by
 * promises. Writes must not throw.
 */
export function writeAtTurnsEnd(write: Work): void {
  writes.add(write);
}

// Promises that one settles run ahead of the next.
function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(arrivals.run);
  setImmediate(due.run);
  setImmediate(end);
}

function end(): void {
  scheduled = false;
  // What came too late for its part of this turn.
  if (!arrivals.empty || !due.empty) schedule();
  writes.run();
}
