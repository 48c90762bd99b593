/**
 * How much a message may unfold to. A megabyte of empty items becomes hundreds of megabytes
 * of objects: they are counted before any is made.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { invalidFields, invalidValue, LintelError, type Violation } from "../core/errors.js";

/** Most items of one list. */
const mostItems = 10_000;

/** Most fields of a message with all that are within it: so many items have three each. */
const mostFields = 4 * mostItems;

/** A field takes this many bytes at the least; a message of fewer than all are is not looked at. */
const leastBytes = 2 * mostItems;

/** What is wrong with a list of this length, or `undefined`. */
export const tooManyItems = (field: string, length: number): Violation | undefined =>
  length > mostItems
    ? { field, message: `number of items must be at most ${mostItems}` }
    : undefined;

/**
 * Counts what a message in protobuf's binary form unfolds to.
 * @returns `invalid_fields` or `invalid_value` if that is too much; `undefined` also where it
 *   can't be read, which decoding tells
 */
export function unfoldsTooFar(desc: DescMessage, bytes: Uint8Array): LintelError | undefined {
  if (bytes.length <= leastBytes) return undefined;
  try {
    new Count().message(desc, new BinaryReader(bytes), bytes.length);
  } catch (thrown) {
    if (thrown instanceof LintelError) return thrown;
  }
  return undefined;
}

class Count {
  #fields = 0;

  /** @throws LintelError if there is too much, and as the reader does */
  message(desc: DescMessage, reader: BinaryReader, end: number, path = ""): void {
    const fields = fieldsOf(desc);
    const items = new Map<DescField, number>();
    while (reader.pos < end) {
      const [number, type] = reader.tag();
      const field = fields.get(number);
      const name = path + (field?.name ?? number);
      if (++this.#fields > mostFields) {
        throw invalidValue(name, `a message may have at most ${mostFields} fields in all`);
      }
      if (field?.fieldKind === "list") {
        const length = (items.get(field) ?? 0) + 1;
        items.set(field, length);
        const wrong = tooManyItems(name, length);
        if (wrong) throw invalidFields([wrong]);
      }
      const within = type === WireType.LengthDelimited ? field?.message : undefined;
      if (within) {
        const length = reader.uint32();
        this.message(within, reader, reader.pos + length, `${name}.`);
      } else reader.skip(type, number);
    }
  }
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
