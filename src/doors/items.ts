/**
 * How much a message may unfold to. A megabyte of empty items becomes hundreds of megabytes
 * of objects: they are counted before any is made.
 */
import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  type Message,
} from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { invalidFields, invalidValue, LintelError, type Violation } from "../core/errors.js";
import { mostItems } from "../core/rules.js";

/** Most fields of a message with all that are within it: so many items have three each. */
const mostFields = 4 * mostItems;

/** A field takes this many bytes at the least; a message of fewer than all are is not looked at. */
export const leastBytes = 2 * mostItems;

/** What is wrong with a list of this length, or `undefined`. */
export const tooManyItems = (field: string, length: number): Violation | undefined =>
  length > mostItems
    ? { field, message: `number of items must be at most ${mostItems}` }
    : undefined;

/** A message that unfolds too far. */
export interface TooFar {
  /** `invalid_fields` or `invalid_value`. */
  readonly defect: LintelError;
  /** What of it can be read: all but the lists that are too long, or nothing. */
  readonly message: Message;
}

/**
 * Counts what a message in protobuf's binary form unfolds to.
 * @returns `undefined` also where it can't be read, which decoding tells
 */
export function unfoldsTooFar(desc: DescMessage, bytes: Uint8Array): TooFar | undefined {
  if (bytes.length <= leastBytes) return undefined;
  const count = new Count();
  try {
    count.message(desc, new BinaryReader(bytes), bytes.length);
    if (count.wrong.size === 0) return undefined;
    return { defect: count.defect, message: fromBinary(desc, without(bytes, count.wrong)) };
  } catch (thrown) {
    if (count.wrong.size > 0) return { defect: count.defect, message: create(desc) };
    return thrown instanceof LintelError ? { defect: thrown, message: create(desc) } : undefined;
  }
}

class Count {
  /** What is wrong with lists of the message itself, by their fields' numbers. */
  readonly wrong = new Map<number, Violation>();
  #fields = 0;

  get defect(): LintelError {
    return invalidFields([...this.wrong.values()]);
  }

  /** @throws LintelError if there is too much that can't be left out, and as the reader does */
  message(desc: DescMessage, reader: BinaryReader, end: number, path = ""): void {
    const fields = fieldsOf(desc);
    const lists = new Map<DescField, { items: number; fields: number }>();
    while (reader.pos < end) {
      const [number, type] = reader.tag();
      const field = fields.get(number);
      const name = path + (field?.name ?? number);
      if (path === "" && this.wrong.has(number)) {
        reader.skip(type, number);
        continue;
      }
      const before = this.#fields;
      const list =
        field?.fieldKind === "list" || field?.fieldKind === "map"
          ? (lists.get(field) ?? { items: 0, fields: 0 })
          : undefined;
      const wrong = list && tooManyItems(name, ++list.items);
      if (wrong && path !== "") throw invalidFields([wrong]);
      if (wrong) {
        // It is left out with all that is within.
        this.wrong.set(number, wrong);
        this.#fields -= list.fields;
        reader.skip(type, number);
        continue;
      }
      if (++this.#fields > mostFields) {
        throw invalidValue(name, `a message may have at most ${mostFields} fields in all`);
      }
      const within = type === WireType.LengthDelimited ? field?.message : undefined;
      if (within) {
        const length = reader.uint32();
        this.message(within, reader, reader.pos + length, `${name}.`);
      } else reader.skip(type, number);
      if (field && list) {
        list.fields += this.#fields - before;
        lists.set(field, list);
      }
    }
  }
}

/** The message without some of its fields. */
function without(bytes: Uint8Array, numbers: Pick<Map<number, unknown>, "has">): Uint8Array {
  const kept: Uint8Array[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < bytes.length) {
    const begin = reader.pos;
    const [number, type] = reader.tag();
    reader.skip(type, number);
    if (!numbers.has(number)) kept.push(bytes.subarray(begin, reader.pos));
  }
  return Buffer.concat(kept);
}

const known = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(desc: DescMessage): ReadonlyMap<number, DescField> {
  let fields = known.get(desc);
  if (!fields) {
    fields = new Map(desc.fields.map((field) => [field.number, field]));
    known.set(desc, fields);
  }
  return fields;
}
