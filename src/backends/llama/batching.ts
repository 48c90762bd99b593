/** Which tokens of which sequences are evaluated together. */

import type { BatchingOptions, EvaluationPriority } from "node-llama-cpp";

type Strategy = Exclude<BatchingOptions["itemPrioritizationStrategy"], string | undefined>;
type Items = Parameters<Strategy>[0]["items"];

/** Times that a batch waits for a sequence; each lets promises that are settled go on, nothing more. */
const patience = 100;

/**
 * What the batches of one context hold, as node-llama-cpp asks for it. An engine that
 * evaluates 8 tokens at once reads the weights once, so a batch should hold a token of
 * every sequence that runs. The library's own strategies begin as soon as all but the
 * last sequence are back in line (8 sequences make batches of 7), and leave the
 * sequences in the order they came, of which llama.cpp takes only those together whose
 * numbers follow each other.
 *
 * This one waits for whoever was in the last batch, puts sequences in order, gives each
 * its token, and divides what room is left among the prompts.
 *
 * The order is that in which llama.cpp comes to the ends, too: one token before several,
 * and of prompts one ends in a batch. It puts what came out of order right when the first
 * of its outputs is read, and the library's samplers read all of them at once, in threads:
 * then an answer would begin with the first token of another one.
 */
export function batchingStrategy(): Strategy {
  let last = 0;
  let waited = 0;
  return ({ items, size }) => {
    if (items.length < last && waited++ < patience) return [];
    waited = 0;
    last = items.length;
    const amounts = amountsOf(items, size);
    return items
      .map((item, i) => ({ item, processAmount: amounts[i] ?? 0 }))
      .filter(({ processAmount }) => processAmount > 0)
      .sort(
        (a, b) =>
          Number(a.processAmount > 1) - Number(b.processAmount > 1) ||
          a.item.evaluationPriority - b.item.evaluationPriority,
      );
  };
}

/** Tokens of each; of those that have several, only the first to have an output keeps its last one. */
function amountsOf(items: Items, size: number): number[] {
  let ends = false;
  return sharesOf(items, size).map((share, i) => {
    if (share < 2 || !items[i]?.logits.slice(0, share).some(Boolean)) return share;
    if (ends) return share - 1;
    ends = true;
    return share;
  });
}

/** Room for each: what it needs, or an even part of what those that need less have left. */
function sharesOf(items: Items, size: number): number[] {
  const shares: number[] = [];
  const needOf = (i: number) => items[i]?.tokens.length ?? 0;
  let room = size;
  let left = items.length;
  for (const i of [...items.keys()].sort((a, b) => needOf(a) - needOf(b))) {
    const share = Math.min(needOf(i), Math.ceil(room / left--));
    shares[i] = share;
    room -= share;
  }
  return shares;
}

/**
 * A sequence's number as the one thing that an item of a batch carries through the
 * library. Its type knows five ranks; all that is done with it is the sort above.
 */
export const rankOf = (sequence: number) => sequence as EvaluationPriority;
