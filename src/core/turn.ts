/**
 * The end of a turn of the event loop: all that it read has been worked on then.
 *
 * What is written to a socket wakes who reads there, on another core. That one comes with
 * its next message before the turn is through, alone, and turns get shorter until each
 * reads one message; to wake somebody for each costs more than all the work on it. Written
 * together at the end of a turn, messages come together, too. A proxy of a few lines needs
 * a third less CPU time for a whole answer by it (`bench/NOTES.md`).
 */

type Work = () => void;

let due: Work[] = [];
let writes: Work[] = [];
let scheduled = false;

/** Does work at the end of this turn, ahead of its writes. Work must not throw. */
export function atTurnsEnd(work: Work): void {
  due.push(work);
  schedule();
}

/**
 * Writes at the end of this turn, behind its work and whatever follows from that by
 * promises. Writes must not throw.
 */
export function writeAtTurnsEnd(write: Work): void {
  writes.push(write);
  schedule();
}

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  // Two: promises that the work settles run between them.
  setImmediate(work);
  setImmediate(write);
}

function work(): void {
  const all = due;
  due = [];
  for (const one of all) one();
}

function write(): void {
  const all = writes;
  writes = [];
  scheduled = false;
  if (due.length > 0) schedule();
  for (const one of all) one();
}
