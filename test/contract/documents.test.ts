/** What the documents say of the contract is what the code does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.js";
import {
  GetAccountResponseSchema,
  LimitQuantitySchema,
  LimitSchema,
  LimitScopeSchema,
  LimitWindowSchema,
} from "../../gen/lintel/v1/account_pb.js";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import { chatDefaults, imageDefaults } from "../../src/core/defaults.js";
import { errorTable } from "../../src/core/error-table.js";
import type { Violation } from "../../src/core/errors.js";
import { methods } from "../../src/core/methods.js";
import { compileRules } from "../../src/core/rules.js";
import { messagesFields } from "../../src/doors/anthropic/request.js";
import { generateFields } from "../../src/doors/google/request.js";
import {
  chatParameters,
  imageParameters,
  responseParameters,
} from "../../src/doors/openai/parameters.js";
import { type Lintel, startLintel } from "../support/lintel.js";

// The formatter pads the columns.
const page = readFileSync(join(import.meta.dirname, "../../docs/contract.md"), "utf8").replace(
  / +/g,
  " ",
);
const rowOf = (field: string) =>
  page.split("\n").find((line) => line.startsWith(`| \`${field}\` |`));

/** The rule of a numeric field in words, found by breaking it. */
function ruleOf(schema: DescMessage, key: string, value: unknown): string {
  const found: Violation[] = [];
  compileRules(schema, {})(create(schema, { [key]: value }), "", found);
  const violation = found.find(
    (v) => v.field === schema.fields.find((f) => f.localName === key)?.name,
  );
  return violation?.message.replace("must be ", "") ?? "";
}

describe("docs/contract.md", () => {
  const defaults: Record<string, unknown> = { ...chatDefaults, ...imageDefaults };
  const fields = [LLMRequestSchema, TextToImageRequestSchema].flatMap((schema) =>
    schema.fields.map((field) => ({ schema, field, name: field.name })),
  );
  it.each(fields)("tells $name, its default and its bounds", ({ schema, field }) => {
    const row = rowOf(field.name);
    expect(row).toBeDefined();
    const fallback = defaults[field.localName];
    if (fallback !== undefined) expect(row).toContain(`| ${fallback} |`);
    const numeric = field.fieldKind === "scalar" && typeof fallback === "number";
    if (numeric) expect(row).toContain(ruleOf(schema, field.localName, -1000));
  });

  const [, account = ""] = /\n## (Who calls.*?)\n## /s.exec(page) ?? [];
  it.each(
    [GetAccountResponseSchema, LimitSchema].flatMap(({ fields }) => fields.map(({ name }) => name)),
  )("tells %s of an account", (name) => expect(account).toContain(`\n| \`${name}\` | `));
  it.each(
    [LimitQuantitySchema, LimitScopeSchema, LimitWindowSchema].flatMap(({ values }) =>
      values.slice(1).map(({ localName }) => localName.toLowerCase()),
    ),
  )("tells %s in an account's limits", (word) => {
    expect(account.split("Field of a limit")[1]).toContain(`\`${word}\``);
  });

  it.each(Object.entries(errorTable))("tells the error %s", (code, { http: status, grpc }) => {
    const name = Code[grpc].replace(/(?<!^)([A-Z])/g, "_$1").toLowerCase();
    expect(rowOf(code)).toContain(`| ${status} | ${name} |`);
  });
});

describe("docs/openai.md", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/openai.md"), "utf8");
  const [, chat = "", image = "", responses = ""] =
    /## Parameters of a chat\n(.*?)\n## Messages.*?\n## Images\n(.*?)\n## Responses\n(.*?)\n## /s.exec(
      text,
    ) ?? [];
  const rowIn = (section: string, name: string) =>
    section.split("\n").find((line) => line.startsWith("| ") && line.includes(`\`${name}\``));

  it.each([...chatParameters])("tells what becomes of %s", (name, { otherwise }) => {
    const words = otherwise === "warn" ? /dropped with a warning/ : /refused \|$/;
    expect(rowIn(chat, name)).toMatch(words);
  });

  it.each([...responseParameters])(
    "tells what becomes of a response's %s",
    (name, { otherwise }) => {
      const words = otherwise === "warn" ? /dropped with a warning/ : /refused \|$/;
      expect(rowIn(responses, name)).toMatch(words);
    },
  );

  it.each([...imageParameters])("tells what becomes of an image's %s", (name, { otherwise }) => {
    const sentence = otherwise === "warn" ? "dropped with a warning" : "refused";
    expect(image.replace(/\s+/g, " ")).toMatch(new RegExp(`\`${name}\`[^.;]* ${sentence}[.;]`));
  });
});

describe("docs/anthropic.md", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/anthropic.md"), "utf8");
  const [, parameters = ""] = /## Parameters\n(.*?)\n## /s.exec(text) ?? [];

  it.each([...(messagesFields as ReadonlyMap<string, unknown>).keys()])(
    "tells what becomes of %s",
    (name) => {
      const told = new RegExp(`^\\|.*\`${name}(?:\\.\\w+)?\`.*\\| \\S`, "m");
      expect(parameters).toMatch(told);
    },
  );
});

describe("docs/google.md", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/google.md"), "utf8");
  const [, parameters = ""] = /## Parameters\n(.*?)\n## /s.exec(text) ?? [];
  const known = generateFields as ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  const config = known.get("generationConfig") ?? new Map<string, unknown>();

  it.each([...known.keys(), ...config.keys()].filter((name) => !name.includes("_")))(
    "tells what becomes of %s",
    (name) => {
      expect(parameters).toMatch(new RegExp(`^\\|.*\`(?:\\w+\\.)?${name}\`.*\\| \\S`, "m"));
    },
  );
});

describe("google.api.http in the proto", () => {
  let lintel: Lintel;
  beforeAll(async () => {
    lintel = await startLintel([]);
  });
  afterAll(() => lintel.close());
  const all = Object.values(methods).filter((method) => hasOption(method, http));
  const by = (kind: string) => all.filter((one) => getOption(one, http).pattern.case === kind);
  const [annotated, read, ended] = [by("post"), by("get"), by("delete")];

  it("is there", () => {
    expect([annotated.length, read.length, ended.length, all.length]).toEqual([3, 2, 1, 6]);
  });

  it("names where REST ends tokens", async () => {
    const path = String(ended[0] && getOption(ended[0], http).pattern.value);
    expect(path).toMatch(/\{token\}$/);
    const response = await fetch(lintel.url + path.replace("{token}", "a"), {
      method: "DELETE",
      headers: { authorization: "Bearer me" },
    });
    expect(await response.json()).toMatchObject({ error: { code: "tokens_not_allowed" } });
  });

  it.each(read.map((method) => ({ method, name: method.name })))(
    "names where REST has $name",
    async ({ method }) => {
      const { value } = getOption(method, http).pattern;
      const headers = { authorization: "Bearer me" };
      const response = await fetch(`${lintel.url}${value}`, { headers });
      // It is for callers of an issuer alone, whose tests read the answer.
      const isOwn = method.name === "ListTokens";
      expect(response.status).toBe(isOwn ? 403 : 200);
      if (isOwn) return;
      const names = method.output.fields.map((field) => field.name);
      const keys = Object.keys((await response.json()) as object);
      expect(keys.filter((key) => !names.includes(key))).toEqual([]);
    },
  );

  it.each(annotated.map((method) => ({ method, name: method.name })))(
    "names where REST has $name",
    async ({ method }) => {
      const { pattern, body } = getOption(method, http);
      expect(pattern.case).toBe("post");
      expect(body).toBe("*");
      // Every field of the message is understood under its own name: all of them are wrong here.
      const wrong = Object.fromEntries(
        method.input.fields.map((field) => [field.name, { not: "this" }]),
      );
      const response = await fetch(lintel.url + pattern.value, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer me" },
        body: JSON.stringify(wrong),
      });
      expect(response.status).toBe(422);
      const { detail } = (await response.json()) as { detail: { loc: string[] }[] };
      const named = new Set(detail.map((d) => d.loc[1]));
      const kindly = new Set(["loras", "include_data", "image_config"]);
      expect(
        method.input.fields
          .map((f) => f.name)
          .filter((name) => !named.has(name) && !kindly.has(name)),
      ).toEqual([]);
    },
  );
});
