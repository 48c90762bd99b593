/**
 * What requests of REST look like, as JSON Schema: the contract's messages, with its rules. Defaults stand in the
 * descriptions alone: of what has a `default` openapi-typescript makes a member that has to be there.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { choicesOf, mostItems, rangeIn, rangeOf, rulesOf } from "../../../core/rules.js";
import { abbreviated, embeddedForm, partsFor } from "../../json/decode.js";
import { commentOf } from "./contract.js";
import { type Part, refer } from "./schema.js";

/** Fields that REST has no use for, by the message. */
const without: Readonly<Record<string, readonly string[]>> = {
  LLMMessage: ["parts"],
  TextToImageRequest: ["include_data"],
};

/** JSON that the contract has as a text may hold anything. */
const anything = { object: { additionalProperties: true }, array: { items: {} } };

/** Ends of what a scalar can have, where the rules have none. */
const widest: { readonly [type in ScalarType]?: readonly [min: number, max: number] } = {
  [ScalarType.INT32]: [-(2 ** 31), 2 ** 31 - 1],
  [ScalarType.UINT32]: [0, 2 ** 32 - 1],
};

/** Adds a message of requests, and those within it, by their names. */
export function addRequest(message: DescMessage, to: Record<string, Part>): void {
  if (message.name in to) return;
  // It may be within itself.
  to[message.name] = {};
  const left = without[message.name] ?? [];
  const fields = message.fields.filter(({ name }) => !left.includes(name));
  const required = fields.filter(isRequired).map(({ name }) => name);
  const properties = fields.map((field) => [
    field.name,
    { description: commentOf(field), ...formOf(field, message, to) },
  ]);
  to[message.name] = {
    type: "object",
    description: commentOf(message),
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(properties),
  };
}

/** Whether a message without the field is refused. */
function isRequired(field: DescField): boolean {
  const { required, type } = rulesOf(field);
  if (required) return true;
  if (type.case === "repeated") return (type.value.minItems ?? 0n) > 0n;
  if (type.case !== "string" || field.proto.proto3Optional) return false;
  const { in: choices, minLen } = type.value;
  return (minLen ?? 0n) > 0n || (choices.length > 0 && !choices.includes(""));
}

function formOf(field: DescField, message: DescMessage, to: Record<string, Part>): Part {
  const form = embeddedForm(field);
  if (form) return { oneOf: [{ type: form, ...anything[form] }, { type: "string" }] };
  const parts = partsFor(message, field);
  if (parts) return { oneOf: [fieldForm(field), formOf(parts, message, to)] };
  switch (field.fieldKind) {
    case "message":
      return messageOf(field.message, to);
    case "list":
      return listOf(field, to);
    case "map":
      return mapOf(field);
    case "scalar":
      return fieldForm(field);
    default:
      throw new Error(`${field}: REST has no fields of this kind`);
  }
}

/** A message, or the word that may stand for it. */
function messageOf(message: DescMessage, to: Record<string, Part>): Part {
  addRequest(message, to);
  const short = abbreviated[message.typeName];
  const field = message.fields.find(({ name }) => name === short);
  return field ? { oneOf: [fieldForm(field), refer(message.name)] } : refer(message.name);
}

/** A list; of texts also one alone. */
function listOf(field: DescField & { fieldKind: "list" }, to: Record<string, Part>): Part {
  const { type } = rulesOf(field);
  const rules = type.case === "repeated" ? type.value : undefined;
  const array = (items: Part): Part => ({
    type: "array",
    ...(rules?.minItems && { minItems: Number(rules.minItems) }),
    maxItems: Number(rules?.maxItems || mostItems),
    items,
  });
  if (field.listKind === "message") return array(messageOf(field.message, to));
  const of = rules?.items?.type;
  const minLength = of?.case === "string" ? Number(of.value.minLen) : 0;
  const text = { type: "string", ...(minLength > 0 && { minLength }) };
  return { oneOf: [array(text), text] };
}

/** A map of numbers by integers, which JSON has as texts. */
function mapOf(field: DescField): Part {
  const { type } = rulesOf(field);
  const rules = type.case === "map" ? type.value : undefined;
  const { min, max } = rules?.values ? (rangeIn(rules.values) ?? {}) : {};
  return {
    type: "object",
    maxProperties: Number(rules?.maxPairs || mostItems),
    propertyNames: { pattern: "^(?:0|[1-9][0-9]{0,9})$" },
    additionalProperties: {
      type: "number",
      ...defined("minimum", min),
      ...defined("maximum", max),
    },
  };
}

/** A field that is no message, no list and no map. */
export function fieldForm(field: DescField): Part {
  switch (field.scalar) {
    case ScalarType.STRING:
      return { type: "string", ...textRules(field) };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.DOUBLE:
      return { type: "number", ...numberRules(field) };
    default:
      return { type: "integer", ...numberRules(field) };
  }
}

function textRules(field: DescField): Part {
  const { type } = rulesOf(field);
  if (type.case !== "string") return {};
  const { in: choices, minLen, maxLen, pattern } = type.value;
  // Required ones have no empty text among them.
  const words = choices.includes("") ? ["", ...choicesOf(field)] : choicesOf(field);
  return {
    ...(words.length > 0 && { enum: words }),
    ...(minLen && { minLength: Number(minLen) }),
    ...(maxLen && { maxLength: Number(maxLen) }),
    ...(pattern && { pattern }),
  };
}

function numberRules(field: DescField): Part {
  const { min, above, max, below, multipleOf } = rangeOf(field) ?? {};
  const [least, most] = widest[field.scalar as ScalarType] ?? [];
  return {
    ...(above ? { exclusiveMinimum: min } : defined("minimum", min ?? least)),
    ...(below ? { exclusiveMaximum: max } : defined("maximum", max ?? most)),
    ...defined("multipleOf", multipleOf),
  };
}

const defined = (name: string, value: number | undefined): Part =>
  value === undefined ? {} : { [name]: value };
