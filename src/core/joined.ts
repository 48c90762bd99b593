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
  const lists = new Map<string, { count: number; last: number }>();
  const over = new Set<string>();
  for (const { what } of [...all].sort(before)) {
    const items = itemsOf(what);
    if (items.some(({ list }) => over.has(list))) continue;
    const enough = items.find(({ list, index }) => {
      const { count = 0, last = -1 } = lists.get(list) ?? {};
      return count >= mostInList && index > last;
    });
    const said = enough ? unchecked(enough.list, enough.index) : what;
    violations.push(said);
    if (said.from !== undefined) over.add(said.field);
    for (const { list, index } of items) {
      lists.set(list, { count: (lists.get(list)?.count ?? 0) + 1, last: index });
    }
  }
  return violations;
}

/** The items that a violation is within, from the outside in. */
function itemsOf({ field, from }: Violation): { readonly list: string; readonly index: number }[] {
  const items = [...field.matchAll(/\[(\d+)\]/g)].map(({ 1: index, index: end }) => ({
    list: field.slice(0, end),
    index: Number(index),
  }));
  return from === undefined ? items : [...items, { list: field, index: from }];
}

/** Whether a field, or what it is a part of, is among `fields`, of which an error has few. */
function isWithin(field: string, fields: ReadonlySet<string>): boolean {
  for (const other of fields) {
    if (field === other || field.startsWith(`${other}.`) || field.startsWith(`${other}[`))
      return true;
  }
  return false;
}
