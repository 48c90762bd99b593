/**
 * JSON with the contract's field names to plain messages of the generated
 * shape. Stricter than protobuf's own JSON form, which takes "5" for a number:
 * here a value has its type or is reported, all of them at once.
 */
import type { DescField, DescMessage, MessageShape, ScalarType } from "@bufbuild/protobuf";
import { scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { noBias } from "../../core/defaults.js";
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { isHopeless } from "../../core/violations.js";
import { tooManyItems } from "../items.js";
import { mapReader, type Read, readEmbedded, readerOf, readText } from "./decode-value.js";

/** String fields that may also come as JSON, and then are written out as text; and what that is then. */
const embedded: Readonly<Record<string, "object" | "array">> = {
  "lintel.v1.TextToImageRequest.loras": "object",
  "lintel.v1.FunctionTool.parameters": "object",
  "lintel.v1.ToolCall.extra_content": "object",
  "lintel.v1.ContentPart.extra_content": "object",
  "lintel.v1.LLMMessage.reasoning_details": "array",
  "lintel.v1.JsonSchemaFormat.schema": "object",
};

/** What a field is in JSON that is a text of JSON in the contract; `undefined`: it is no such field. */
export const embeddedForm = ({ parent, name }: DescField): "object" | "array" | undefined =>
  embedded[`${parent.typeName}.${name}`];

/** String fields for which a list may stand, which goes into the field of this name. */
const orParts: Readonly<Record<string, string>> = { "lintel.v1.LLMMessage.content": "parts" };

/** The field that a list goes into which stands for a text; `undefined`: none may. */
export const partsFor = (desc: DescMessage, field: DescField): DescField | undefined =>
  desc.fields.find(({ name }) => name === orParts[`${desc.typeName}.${field.name}`]);

/** Messages for which a string may stand: OpenAI's clients write `"auto"` for `{"type": "auto"}`. */
export const abbreviated: Readonly<Record<string, string>> = {
  "lintel.v1.ToolChoice": "type",
  "lintel.v1.ImageUrl": "url",
};

/** Messages that JSON has texts for, and what these are. */
const asText: Readonly<Record<string, string>> = {
  "google.protobuf.Timestamp": "must be a time such as 2027-01-31T18:00:00Z",
  "google.protobuf.Duration": "must be a duration in seconds such as 86400s",
};

/** What became of a JSON object. */
export interface Decoded<T> {
  /** The message; a field that could not be decoded is as if not set. */
  readonly message: T;
  /** What has the wrong type, by path; of a list with much of it, the first. */
  readonly violations: Violation[];
}

/** Decodes one kind of message. Never throws. */
export type Decode<D extends DescMessage> = (json: JsonObject) => Decoded<MessageShape<D>>;

interface Field {
  /** Name in JSON. */
  readonly name: string;
  /** Name in the generated shape. */
  readonly local: string;
  readonly read: Read;
  /** Value when not set; a list gets a fresh one, of maps there is one for all. */
  readonly unset: "list" | typeof noBias | string | number | boolean | undefined;
  /** Of one that excludes others: name of them together in the generated shape, and their names in JSON. */
  readonly oneof?: { readonly local: string; readonly names: readonly string[] };
  /** How a list is read that stands in its place; absent: none may. */
  readonly parts?: { readonly name: string; readonly local: string; readonly read: Read };
}

/**
 * Compiles the decoder of a message type. `null` counts as not set, unknown
 * fields are ignored, and a string stands for a list of it alone. What is
 * missing is not looked for: that is a rule, and rules are the core's.
 */
export function compileDecoder<D extends DescMessage>(desc: D): Decode<D> {
  const read = readerOfMessage(desc);
  return (json) => {
    const violations: Violation[] = [];
    return { message: read(json, "", violations) as MessageShape<D>, violations };
  };
}

/** By message type: several doors take the same, and they have messages in common. */
const compiled = new WeakMap<DescMessage, Read>();

function readerOfMessage(desc: DescMessage): Read {
  const read = compiled.get(desc) ?? compileMessage(desc);
  compiled.set(desc, read);
  return read;
}

function compileMessage(desc: DescMessage): Read {
  const fields = desc.fields.map((field): Field => {
    const read = embeddedForm(field) ? readEmbedded : compileField(field);
    const other = partsFor(desc, field);
    return {
      ...{ name: field.name, local: field.localName, unset: unsetValue(field) },
      read: other ? orInParts(read) : read,
      ...(other && {
        parts: { name: other.name, local: other.localName, read: compileField(other) },
      }),
      ...(field.oneof && {
        oneof: { local: field.oneof.localName, names: field.oneof.fields.map(({ name }) => name) },
      }),
    };
  });
  // Fields are there from the begin: objects that grow are slow to make, and to collect.
  const blank = inOnePiece([
    ["$typeName", desc.typeName],
    ...fields
      .filter(({ oneof }) => !oneof)
      .map(({ local, unset }) => [local, unset === "list" ? undefined : unset] as const),
  ]);
  return (value, path, into) => {
    const message = { ...blank };
    const given = isObject(value);
    if (!given) into.push({ field: path.slice(0, -1), message: "must be an object" });
    for (const { name, local, read, unset, parts, oneof } of fields) {
      const raw = given ? value[name] : undefined;
      if (oneof) {
        if (message[oneof.local] === undefined) message[oneof.local] = { case: undefined };
        if (raw === undefined || raw === null) continue;
        readOneOf(message, { local, oneof }, read(raw, path + name, into), path, into);
        continue;
      }
      if (parts && Array.isArray(raw)) {
        message[parts.local] = parts.read(raw, path + parts.name, into);
        continue;
      }
      const decoded = raw === undefined || raw === null ? undefined : read(raw, path + name, into);
      if (decoded !== undefined) message[local] = decoded;
      else if (unset === "list") message[local] ??= [];
    }
    return message;
  };
}

/**
 * An object to make copies of. Not put together field by field: of more than sixteen V8 makes a table then,
 * and to copy that takes longer than to decode all of a request.
 */
function inOnePiece(fields: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const made = JSON.parse(JSON.stringify(Object.fromEntries(fields.map(([name]) => [name, null]))));
  for (const [name, value] of fields) made[name] = value;
  return made;
}

function readOneOf(
  message: Record<string, unknown>,
  { local, oneof }: { readonly local: string; readonly oneof: NonNullable<Field["oneof"]> },
  decoded: unknown,
  path: string,
  into: Violation[],
): void {
  if (decoded === undefined) return;
  const { case: other } = message[oneof.local] as { case: string | undefined };
  if (other === undefined) message[oneof.local] = { case: local, value: decoded };
  else
    into.push({ field: path.slice(0, -1), message: `must have one of ${oneof.names.join(", ")}` });
}

/** Of what is neither the text nor a list it is said that it may be either. */
const orInParts =
  (read: Read): Read =>
  (value, path, into) => {
    if (typeof value === "string") return read(value, path, into);
    into.push({ field: path, message: "must be a string, or an array of parts" });
    return undefined;
  };

function unsetValue(field: DescField): Field["unset"] {
  if (field.fieldKind === "list") return "list";
  if (field.fieldKind === "map") return noBias;
  if (field.fieldKind !== "scalar" || field.proto.proto3Optional) return undefined;
  return scalarZeroValue(field.scalar, false) as Field["unset"];
}

function compileField(field: DescField): Read {
  switch (field.fieldKind) {
    case "scalar":
      return readerOf(field.scalar, field);
    case "map":
      return mapReader(field);
    case "message": {
      const text = asText[field.message.typeName];
      if (text !== undefined) return readText(field.message, text);
      const nested = readerOfMessage(field.message);
      const short = abbreviated[field.message.typeName];
      if (short === undefined) return (value, path, into) => nested(value, `${path}.`, into);
      return (value, path, into) => {
        if (typeof value === "string") return nested({ [short]: value }, `${path}.`, into);
        if (isObject(value)) return nested(value, `${path}.`, into);
        into.push({ field: path, message: "must be a string, or an object" });
        return undefined;
      };
    }
    case "list": {
      if (field.listKind === "enum") break;
      const nested = field.listKind === "message" ? readerOfMessage(field.message) : undefined;
      const item: Read = nested
        ? (value, path, into) => nested(value, `${path}.`, into)
        : readerOf(field.scalar as ScalarType, field);
      // What can't be decoded keeps its place, so that the others keep theirs.
      const unset = field.listKind === "scalar" ? scalarZeroValue(field.scalar, false) : undefined;
      const texts = unset === "";
      return (value, path, into) => {
        if (texts && typeof value === "string") return [item(value, path, into)];
        if (!Array.isArray(value)) {
          const message = texts ? "must be an array of strings, or a string" : "must be an array";
          into.push({ field: path, message });
          return undefined;
        }
        const tooMany = tooManyItems(path, value.length);
        if (tooMany) {
          into.push(tooMany);
          return undefined;
        }
        const items: unknown[] = [];
        const before = into.length;
        for (let i = 0; i < value.length && !isHopeless(into, before, path, i); i++) {
          items.push(item(value[i], `${path}[${i}]`, into) ?? unset);
        }
        // As long as it is: one that grew has room for sixteen more.
        return items.slice();
      };
    }
  }
  throw new Error(`${field}: the JSON doors can't decode fields of this kind`);
}
