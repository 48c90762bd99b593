/** A clock for what has no end of its own. */

/** Does something again and again without keeping the process. @returns ends it */
export function every(ms: number, look: () => void): () => void {
  const timer = setInterval(look, ms);
  timer.unref();
  return () => clearInterval(timer);
}
