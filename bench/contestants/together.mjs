// The end of a turn of the event loop, for proxies that write there what they have to write.
let waiting = [];

/** Writes at the turn's end, with all others. */
export function later(write) {
  if (waiting.length === 0) setImmediate(writeAll);
  waiting.push(write);
}

function writeAll() {
  const all = waiting;
  waiting = [];
  for (const write of all) write();
}
