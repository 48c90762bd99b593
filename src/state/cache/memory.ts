/** Answers in this process, those that were asked for last. */
import { LRUCache } from "lru-cache";
import type { AnswerCache } from "../../core/cache/store.js";

/** About what an entry takes besides its bytes. */
const besides = 400;

/** Makes a store. @param maxBytes room for all answers; 0: none is kept */
export function memoryCache(maxBytes: number): AnswerCache {
  const answers = new LRUCache<string, Uint8Array>({
    // 0 would be any number.
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: (answer) => answer.byteLength + besides,
  });
  return {
    get: (name) => answers.get(name),
    // Whoever reads an answer sees how old it is: one that is too old goes when room is needed, or a new one comes.
    put: (name, answer) => void answers.set(name, answer),
    async close() {
      answers.clear();
    },
  };
}
