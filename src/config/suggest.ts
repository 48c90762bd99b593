/** "Did you mean": the nearest of some known words. */

/** Number of letters to insert, delete, replace or swap with their neighbour to make `b` of `a`. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (previous[j] as number) + 1,
        (current[j - 1] as number) + 1,
        (previous[j - 1] as number) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (before[j - 2] as number) + 1);
      }
      current[j] = cost;
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] as number;
}

/** The known word that was probably meant, or `undefined` if none is near. */
function nearest(word: string, known: Iterable<string>): string | undefined {
  const normal = (text: string) => text.toLowerCase().replaceAll("-", "_");
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(normal(word), normal(candidate));
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** ` (did you mean "x"?)`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` (did you mean "${meant}"?)`;
}
