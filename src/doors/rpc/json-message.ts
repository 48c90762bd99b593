/** JSON messages that the RPC library refuses: read once more, so that all that is wrong is told. */
import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { compressionGzip } from "@connectrpc/connect-node";
import { invalidFields, type LintelError, type Violation } from "../../core/errors.js";
import { isObject } from "../../core/json.js";
import { leastBytes, type TooFar, tooManyItems } from "../items.js";
import { parseBody, twiceIn } from "../json/body.js";
import { compileDecoder } from "../json/decode.js";
import { fieldsOf } from "../json/known.js";
import { putBack } from "../json/long-numbers.js";
import { finding, type Names } from "../json/rename.js";
import { encodingOf, framesIn, isBare, packedFlag } from "./frames.js";
import { asContract } from "./json-spelling.js";

/** What a message turned out to be. */
export interface Reading {
  /** Without the fields that can't be read; absent if it is no JSON object at all. */
  readonly message?: Message;
  /** Absent if the other doors take it as it is. */
  readonly defect?: LintelError;
  /** The caller's names of fields; absent: the contract's. */
  readonly names?: Names;
}

/** Reads messages of one type. Never throws. */
export interface JsonReader {
  /** Reads a message again; `undefined`: nothing is wrong with it. */
  read(bytes: Uint8Array): Reading | undefined;
  /** Looks only whether a list of it has too many items, an integer too many digits, or a field is refused as none. */
  unfoldsTooFar(bytes: Uint8Array): TooFar | undefined;
}

/**
 * Compiles the reader of a message type. Fields that the library takes stay as it has
 * them, since protobuf's JSON form has more spellings than REST: "5" for a number, names
 * in camel case. All others are read, and refused, as over REST.
 * @param strict whether fields are refused that there are none of. Default: no
 */
export function jsonReader(input: DescMessage, strict = false): JsonReader {
  const decode = compileDecoder(input);
  const fields = new Map(
    input.fields.flatMap((field) => [
      [field.name, field],
      [field.jsonName, field],
    ]),
  );
  const known = fieldsOf(input, {}, ({ name, jsonName }) => [name, jsonName]);
  const read = (bytes: Uint8Array): Reading | undefined => {
    const parsed = parseBody(bytes);
    const defect = parsed.defect ?? twiceIn(parsed, known);
    if (defect) return { defect };
    const { json = {}, passed } = parsed;
    if (passed?.digits) putBack(passed.text, json, known);
    const taken: Record<string, unknown> = {};
    const refused: Record<string, unknown> = {};
    const twice: Violation[] = [];
    const names = new Set<string>();
    for (const [key, value] of Object.entries(json)) {
      const field = fields.get(key);
      if (!field) continue;
      const { name } = field;
      // The library refuses it also where one of them is null.
      if (names.has(name)) twice.push({ field: name, message: "must be set once" });
      names.add(name);
      if (value === null) continue;
      const localName = field.oneof?.localName ?? field.localName;
      try {
        if (isTooLong(field, value)) throw new RangeError();
        const message = fromJson(input, { [key]: value } as JsonObject, options);
        taken[localName] = (message as unknown as Record<string, unknown>)[localName];
      } catch {
        refused[name] = asContract(field, value, name, twice);
      }
    }
    const whole = twice.length === 0 && Object.keys(refused).length === 0;
    const unknown = strict ? unknownIn(input, json) : [];
    // The library refuses a key that stands twice also where nobody knows it.
    if (whole && unknown.length === 0 && !passed?.twice) return undefined;
    const { message, violations } = decode(refused);
    violations.push(...twice, ...unknown);
    const callers = namesIn(refused);
    return {
      message: { ...message, ...taken },
      ...(callers && { names: callers }),
      ...(violations.length > 0 && { defect: invalidFields(violations) }),
    };
  };
  return {
    read,
    unfoldsTooFar(bytes) {
      const { json = {} } = strict || bytes.length > leastBytes ? parseBody(bytes) : {};
      const tooLong = ([key, value]: [string, unknown]) => {
        const field = fields.get(key);
        return field !== undefined && isTooLong(field, value);
      };
      const isUnknown = strict && unknownIn(input, json).length > 0;
      if (!isUnknown && !Object.entries(json).some(tooLong)) return undefined;
      const { message, defect } = read(bytes) ?? {};
      return message && defect && { message, defect };
    },
  };
}

/** Members of a message, and of those within it, that are no fields of theirs. */
function unknownIn(message: DescMessage, json: object, at = ""): Violation[] {
  return Object.entries(json).flatMap(([key, value]: [string, unknown]) => {
    const field = message.fields.find(({ name, jsonName }) => key === name || key === jsonName);
    if (!field) {
      const known = message.fields.map(({ name }) => name).join(", ");
      return [{ field: at + key, message: `is no field here; there are ${known}` }];
    }
    // Of those of protobuf itself, such as times, it is a text.
    const within = isObject(value) && !Array.isArray(value) ? field.message : undefined;
    return within ? unknownIn(within, value as object, `${at}${field.name}.`) : [];
  });
}

/** Of messages that have their parts in `content`, as over REST. */
function namesIn({ messages }: Readonly<Record<string, unknown>>): Names | undefined {
  if (!Array.isArray(messages)) return undefined;
  const inContent = messages.map((it) => isObject(it) && Array.isArray(it.content));
  if (!inContent.includes(true)) return undefined;
  return (field) =>
    inContent[Number(/^messages\[(\d+)\]/.exec(field)?.[1])] ? finding({})(field) : field;
}

/** Most characters of an integer in a string: the library's way of 10 MB of digits takes seconds. */
const longestInteger = 100;

function isTooLong(field: DescField, value: unknown): boolean {
  if (Array.isArray(value)) return tooManyItems("", value.length) !== undefined;
  if (field.fieldKind === "map" && isObject(value)) {
    return tooManyItems("", Object.keys(value).length) !== undefined;
  }
  const long = typeof value === "string" && value.length > longestInteger;
  return long && field.fieldKind === "scalar" && field.scalar === ScalarType.INT64;
}

const options = { ignoreUnknownFields: true };

/**
 * The first message of a body, unpacked.
 * @param parts of the body, as far as it was read
 * @param header of the request
 * @param limit most bytes of the message once it is unpacked
 * @returns `undefined` if it can't be had
 */
export async function messageIn(
  parts: readonly Uint8Array[],
  header: Headers,
  limit: number,
): Promise<Uint8Array | undefined> {
  const body = Buffer.concat(parts);
  const bare = isBare(header);
  const [frame] = bare ? [] : framesIn(body);
  if (!bare && !frame) return undefined;
  const encoding = encodingOf(header);
  const packed = frame ? (frame.flags & packedFlag) !== 0 : encoding !== "identity";
  const message = frame?.data ?? body;
  if (!packed) return message;
  // Flagged as packed, the message may never have been unpacked within the limit: where no
  // header says how, the library refuses it as it is.
  if (encoding !== "gzip") return undefined;
  try {
    return await compressionGzip.decompress(message, limit);
  } catch {
    return undefined;
  }
}
