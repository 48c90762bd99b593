/** How rows come into SQLite with little to bind, which is most of what they cost (`bench/rows.ts`). */
import { type Insertion, insertText, type Statement, type Value, valuesOf } from "./sql.js";

/** An insertion on its way to SQLite's thread: its lines in one text. */
export type PackedInsertion = Omit<Insertion, "lines"> & { readonly lines: string };

/** Rows of one statement: a row takes a fifth less than alone. */
const rowsAtOnce = 25;

/**
 * The statements that insert lines. Columns that are NULL in all of them are left out: they take as much time as others.
 * @param atOnce rows of a statement; what is left comes row by row, so that there are two texts, which stay prepared
 * @throws ValueRefused if a line is not JSON
 */
export function* insertions(
  { table, columns, lines }: PackedInsertion,
  atOnce = rowsAtOnce,
): Generator<Required<Pick<Statement, "text" | "values">>> {
  const all = lines.split("\n").map((line) => valuesOf(line, columns));
  // The first is the key: there has to be one.
  const used = columns.flatMap((_, i) =>
    i === 0 || all.some((row) => row[i] !== null) ? [i] : [],
  );
  const into = { table, columns: used.map((i) => columns[i] as (typeof columns)[number]) };
  const texts = { many: insertText(into, atOnce), one: insertText(into, 1) };
  for (let done = 0; done < all.length; ) {
    const rows = all.length - done < atOnce ? 1 : atOnce;
    const values: Value[] = [];
    for (const end = done + rows; done < end; done++) {
      const row = all[done] as Value[];
      for (const i of used) values.push(row[i] as Value);
    }
    yield { text: rows === 1 ? texts.one : texts.many, values };
  }
}
