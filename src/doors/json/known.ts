/** Which fields of a JSON body a door reads: the others are ignored, whatever stands there. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { embeddedForm, partsFor } from "./decode.js";

/**
 * The names that are read of an object, and what is read below each; or all of it, or nothing; or all
 * of it, as a text, which has the numbers of the body that JavaScript has none for.
 */
export type Known = boolean | "verbatim" | ReadonlyMap<string, Known>;

/** What is read of an object, by its names. */
export const fields = (table: Readonly<Record<string, Known>>): Known =>
  new Map(Object.entries(table));

/**
 * What is read of a message; JSON that is a text in the contract (a schema, a map of LoRAs) as it was written.
 * @param more fields that the door has besides, or reads in another way
 * @param namesOf a field's names in JSON
 */
export function fieldsOf(
  desc: DescMessage,
  more: Readonly<Record<string, Known>> = {},
  namesOf: (field: DescField) => string[] = ({ name }) => [name],
): Known {
  const known = desc.fields.flatMap((field) => {
    const alone = embeddedForm(field) === undefined ? true : "verbatim";
    const { message } = partsFor(desc, field) ?? field;
    const below = message ? fieldsOf(message, {}, namesOf) : alone;
    return namesOf(field).map((name): [string, Known] => [name, below]);
  });
  return new Map([...known, ...Object.entries(more)]);
}

/** Whether a member of this name is read. */
export const isKnown = (known: Known, name: string): boolean =>
  known instanceof Map ? known.has(name) : known !== false;

/** What is read below a name. */
export const below = (known: Known, name: string): Known =>
  known instanceof Map ? (known.get(name) ?? false) : known;
