/** A client's own words, in what it is told. */
import { wellFormed } from "../../core/well-formed.js";

/** Most letters that are repeated. */
const longest = 40;

/** How they begin, for a warning or an error; half of a character at the cut is U+FFFD. */
export const quoted = (words: string): string => wellFormed(words.slice(0, longest));
