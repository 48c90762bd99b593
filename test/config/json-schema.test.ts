import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { configJsonSchema } from "../../src/config/json-schema.js";
import { mistakes, valueFor } from "./text.js";

/** What an editor thinks of a text. */
const schema = z.fromJSONSchema(configJsonSchema() as never);
const accepted = (text: string) => schema.safeParse(parse(text) ?? {}).success;

const example = readFileSync(new URL("../../lintel.example.yaml", import.meta.url), "utf8");

test.each([
  ["the example", example],
  ["an empty file", ""],
  ["one address", "listen: 8080"],
  ["several addresses", "listen: [':8080', 'unix:/a']"],
  ["a duration as a number", "media: { ttl: 1000, max_bytes: 1GiB }"],
  ["a kind of backend", "backends: [{ type: embedded, name: a }]"],
  ["proxies", "trust_proxy: [10.0.0.0/8]"],
])("the JSON Schema accepts %s, as the parser does", (_what, text) => {
  expect(mistakes(text)).toEqual([]);
  expect(accepted(text)).toBe(true);
});

test("it accepts a variable where a number or a switch is meant", () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what the file says
  const text = "trust_proxy: ${P}\nbounds:\n  width:\n    max: ${W}\n";
  expect(mistakes(text, { P: "true", W: "512" })).toEqual([]);
  expect(accepted(text)).toBe(true);
});

test.each([
  ["an unknown key", "lsiten: 1"],
  ["a wrong word", "auth: { mode: tokn }"],
  ["a missing field", "models: [{ model: a }]"],
  ["a wrong type", "bounds: { width: { max: wide } }"],
  ["an unknown kind of backend", "backends: [{ type: opnai, name: a }]"],
])("it refuses %s, as the parser does", (_what, text) => {
  expect(mistakes(text)).not.toEqual([]);
  expect(accepted(text)).toBe(false);
});

test("every field has a description, and every duration its unit: in the value, not in the name", () => {
  const missing: string[] = [];
  const units: string[] = [];
  const visit = (node: Record<string, unknown>, path: string) => {
    for (const [key, value] of Object.entries((node.properties ?? {}) as Record<string, never>)) {
      const field = value as Record<string, unknown>;
      const plain = key === "type" || path.includes("defaults");
      if (!field.description && !plain) missing.push(`${path}${key}`);
      const bare =
        typeof field.default === "number" && JSON.stringify(field).includes("(ms|s|m|h|d)");
      if (bare || /_(?:ms|s|sec(?:onds)?|minutes)$/.test(key)) units.push(`${path}${key}`);
      visit(field, `${path}${key}.`);
    }
    for (const inner of [node.items, ...((node.oneOf ?? node.anyOf ?? []) as unknown[])]) {
      if (inner) visit(inner as Record<string, unknown>, path);
    }
  };
  visit(configJsonSchema() as Record<string, unknown>, "");
  expect({ missing, units }).toEqual({ missing: [], units: [] });
});

/** The example with every commented setting in force, as far as its lines are settings. */
const whole = example.replace(
  /^( *)# (?=(?:- | {2})*(?:[a-z]\w*:(?: |$)|\{))(?!public: any|or: )/gm,
  "$1",
);

test("what the example shows is right, also what is commented out", () => {
  const names = [...whole.matchAll(/\$\{([A-Z_\d]+)\}/g)].map(([, name = ""]) => [
    name,
    valueFor(name),
  ]);
  // Files that are not there, and the one thing that does not go with the models of this machine.
  const besides = /(?:file|workflow) \S+ (?:does not exist|is not there)$|: workers: |lintel node/;
  const found = mistakes(whole, Object.fromEntries(names));
  expect(found.filter((line) => !besides.test(line))).toEqual([]);
});

test("the example shows every section, every setting in it, and every kind of backend", () => {
  type Node = { properties?: Record<string, Node>; items?: Node; oneOf?: Node[]; const?: string };
  const { properties = {} } = configJsonSchema() as Node;
  const sections = Object.entries(properties);
  const missing = sections.flatMap(([name, { properties: inner = {} }]) => {
    const [, text] = new RegExp(`^${name}:(.*(?:\\n(?![a-z]).*)*)`, "m").exec(whole) ?? [];
    if (text === undefined) return [name];
    const keys = Object.keys(inner).filter((key) => !new RegExp(`^ +${key}:`, "m").test(text));
    return keys.map((key) => `${name}.${key}`);
  });
  const kinds = properties.backends?.items?.oneOf?.map((kind) => kind.properties?.type?.const);
  expect(kinds).toContain("openai");
  const absent = kinds?.filter((kind) => !new RegExp(`^ +- type: ${kind}$`, "m").test(whole));
  expect({ missing, absent }).toEqual({ missing: [], absent: [] });
});
