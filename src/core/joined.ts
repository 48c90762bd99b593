/** What a door could not decode, and what the rules find besides, told as one. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Violation } from "./errors.js";
import { mostInList, unchecked } from "./violations.js";

/**
 * Joins the two: to the rules a field that could not be decoded looks missing. In the order of the
 * contract's fields and of the items of a list, whatever was found first; behind these what is a
 * door's own. Of a list it is no more than either looks for.
 */
export function joined(
  desc: DescMessage,
  undecoded: readonly Violation[],
  found: readonly Violation[],
): Violation[] {
  const names = new Set<string>();
  const cut = new Set<string>();
  for (const { field, from } of undecoded) (from === undefined ? names : cut).add(field);
  // A list of which the end was not decoded looks shorter than it is.
  const besides = found.filter(
    ({ field, from }) => !isWithin(field, names) && (from !== undefined || !cut.has(field)),
  );
  return first([...undecoded, ...besides].map((what) => ({ what, place: placeOf(desc, what) })));
}

/** A violation, and where it stands in the contract: fields and items in turn, by number. */
interface Placed {
  readonly what: Violation;
  readonly place: readonly number[];
}

function placeOf(desc: DescMessage, { field, from }: Violation): number[] {
  const place: number[] = [];
  let fields: DescMessage["fields"] = desc.fields;
  for (const part of field.split(/[.[]/)) {
    if (part.endsWith("]")) {
      place.push(Number.parseInt(part, 10));
      continue;
    }
    const index = fields.findIndex(({ name }) => name === part);
    place.push(index < 0 ? fields.length : index);
    fields = fields[index]?.message?.fields ?? [];
  }
  return from === undefined ? place : [...place, from];
}

const before = ({ place: one }: Placed, { place: other }: Placed): number => {
  for (let i = 0; i < one.length && i < other.length; i++) {
    const distance = (one[i] as number) - (other[i] as number);
    if (distance !== 0) return distance;
  }
  return one.length - other.length;
};

/** In order, and of each list those before the first item that one of the two did not look at. */
function first(all: readonly Placed[]): Violation[] {
  const violations: Violation[] = [];
  const lists = new Map<string, { count: number; last: number; over: boolean }>();
  for (const { what } of [...all].sort(before)) {
    const [, name = what.field, index = what.from] = /^([^[]+)\[(\d+)\]/.exec(what.field) ?? [];
    if (index === undefined) {
      violations.push(what);
      continue;
    }
    const item = Number(index);
    const { count, last, over } = lists.get(name) ?? { count: 0, last: -1, over: false };
    if (over) continue;
    const ends = what.from !== undefined || (count >= mostInList && item > last);
    violations.push(ends ? unchecked(name, item) : what);
    lists.set(name, { count: count + 1, last: item, over: ends });
  }
  return violations;
}

/** Whether a field, or what it is a part of, is among `fields`, of which an error has few. */
function isWithin(field: string, fields: ReadonlySet<string>): boolean {
  for (const other of fields) {
    if (field === other || field.startsWith(`${other}.`) || field.startsWith(`${other}[`))
      return true;
  }
  return false;
}
