/**
 * The end of a turn of the event loop, when all that it brought has been read. What came
 * together is worked on together, and what is written is written together:
 *
 * - What is written to a socket wakes who reads there, on another core. That one comes with
 *   its next message before the turn is through, alone, and turns get shorter until each
 *   reads one message; to wake somebody for each costs more than all the work on it.
 * - All steps for one message, then all for the next, are more than the processor's caches
 *   hold; one step done for all messages seems to find its code and its data there. What a
 *   thousand of them need is more than those hold, too, and each would wait for all: of
 *   many, as soon as some are read they are worked on and written, ahead of the next reads.
 *
 * What each brings stands in `bench/NOTES.md`.
 */

type Work = () => void;

/** So much of what came in a turn is worked on together: a round, of which a turn may have several. */
const together = 32;

/** A part of a round: work that waits for it. */
class Phase {
  #waiting: Work[] = [];
  readonly #most: number;

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(work: Work): void {
    this.#waiting.push(work);
  }

  readonly run = () => {
    for (const one of this.#waiting.splice(0, this.#most)) one();
  };
}

const arrivals = new Phase(together);
const due = new Phase();
const writes = new Phase();
/** Rounds at the turn's end that have not ended. */
let rounds = 0;
/** Whether a round runs ahead of them. */
let ahead = false;

/**
 * Works on what was read once all that came in this turn has been read, or enough of it.
 * Work must not throw.
 * @param http2 it came over HTTP/2: others are not worked on in the middle of such a read, for
 *   Node 20 corrupts its memory when a stream ends there (nodejs/node#64113)
 */
export function afterReads(work: Work, http2 = false): void {
  arrivals.add(work);
  if (!http2 && arrivals.size >= together) goAhead();
  else if (arrivals.size > rounds * together) atEnd();
}

/**
 * Does work behind all that follows from what was read, ahead of its writes.
 * Work must not throw.
 */
export function beforeWrites(work: Work): void {
  due.add(work);
  if (rounds === 0) atEnd();
}

/**
 * Writes at the end of this turn, behind its work and whatever follows from that by
 * promises. Writes must not throw.
 */
export function writeAtTurnsEnd(write: Work): void {
  writes.add(write);
  if (rounds === 0) atEnd();
}

// Promises that one settles run ahead of the next.
function atEnd(): void {
  rounds += 1;
  setImmediate(arrivals.run);
  setImmediate(due.run);
  setImmediate(end);
}

function end(): void {
  rounds -= 1;
  // What came too late for its part of the last round.
  if (rounds === 0 && arrivals.size + due.size > 0) atEnd();
  writes.run();
}

/**
 * A round between two reads, when enough was read: who is read last would wait for the
 * work on all, and who is read first for the reads of all.
 */
function goAhead(): void {
  if (ahead) return;
  ahead = true;
  process.nextTick(() => {
    arrivals.run();
    afterPromises(() => {
      due.run();
      afterPromises(() => {
        ahead = false;
        writes.run();
        if (arrivals.size >= together) goAhead();
      });
    });
  });
}

/**
 * Goes on behind the promises that are settled now and what follows from them. Twice round, for
 * some of it takes a tick between its promises; what takes more waits for the turn's end.
 */
function afterPromises(next: Work): void {
  queueMicrotask(() => process.nextTick(() => queueMicrotask(() => process.nextTick(next))));
}
