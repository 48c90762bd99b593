/** What the OpenAPI document says of a value. */
import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json } from "../contract/wire.js";

/** The document as it lies in `gen/`. */
export const document: Json = JSON.parse(
  readFileSync(new URL("../../gen/openapi.json", import.meta.url), "utf8"),
);

/** The same, but no object has a member that is not described. */
const strict: Json = JSON.parse(JSON.stringify(document), (_, value) =>
  value?.type === "object" && value.properties ? { ...value, additionalProperties: false } : value,
);

const validators = new Map<string, ValidateFunction>();

/** What is wrong with a request by its schema; empty: nothing. */
export const faultsOf = (schema: string, value: unknown): string[] =>
  faults(`request:${schema}`, document, schema, value);

/** What is wrong with an answer, of which all has to be described. */
export const faultsOfAnswer = (schema: string, value: unknown): string[] =>
  faults(`answer:${schema}`, strict, schema, value);

function faults(key: string, within: Json, schema: string, value: unknown): string[] {
  let validate = validators.get(key);
  if (!validate) {
    const ajv = new Ajv2020({
      allErrors: true,
      strict: false,
      formats: { "uri-reference": true, "date-time": true },
    });
    ajv.addSchema({ ...within, $id: "openapi" });
    validate = ajv.compile({ $ref: `openapi#/components/schemas/${schema}` });
    validators.set(key, validate);
  }
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
