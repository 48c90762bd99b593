/** Calls of tools whose arguments stand between marks: as texts, and not as JSON. */
import { describe, expect, it } from "vitest";
import type { LLMRequest, Tool } from "../../gen/lintel/v1/chat_pb.js";
import { type JsonObject, parseJson } from "../../src/core/json.js";
import { functionTool } from "../support/tools.js";
import { fits, grammarOfCalls } from "./llama-grammars.js";
import { cuts, form, read } from "./llama-tool-forms.js";
import { templates } from "./llama-tool-templates.js";

const forms = {
  qwen: form(templates.qwenCoder),
  glm: form(templates.glm),
  glmTight: form(templates.glmTight),
  seed: form(templates.seed),
  miniMax: form(templates.miniMax),
  deepSeek: form(templates.deepSeekTags),
  deepSeekLater: form("DSML tool_calls>"),
  gigaChat: form("function call<|role_sep|><｜GCML｜tool_calls>"),
  hy: form("{%- set mark = ':opensource' %}{{ '<tool_sep{}>'.format(mark) }}"),
  miniCpm: form(templates.miniCpm),
  miniMaxTags: form(templates.miniMaxTags),
  kimiTags: form(templates.kimiTags),
};

/** What stands in front of MiniMax-M3's tags. */
const tag = "]<]minimax[>[";

type Written = (name: string, args: Record<string, string>) => string;

const schema = {
  type: "object",
  properties: {
    path: { type: "string" },
    lines: { type: "integer" },
    force: { type: "boolean" },
    marks: { type: "array", items: { type: "string" } },
    more: { $ref: "#/$defs/more" },
    mode: { enum: ["1", "2"] },
    some: { type: ["string", "number", "null"] },
    free: {},
  },
  required: ["path"],
  additionalProperties: false,
  $defs: { more: { type: "object", properties: { a: { type: "number" } } } },
};
const known = new Map<string, JsonObject>([
  ["edit", schema],
  ["stop", { type: "object", properties: {} }],
]);

/** What DeepSeek says of an argument. */
const isText = (key: string, value: string) =>
  ["path", "mode"].includes(key) || parseJson(value) === undefined;

/** A call, as each form writes it. */
const written: { readonly [name in keyof typeof forms]: Written } = {
  qwen: (name, args) =>
    `<tool_call>\n<function=${name}>\n${Object.entries(args)
      .map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`)
      .join("")}</function>\n</tool_call>`,
  glm: (name, args) =>
    `<tool_call>${name}\n${Object.entries(args)
      .map(([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`)
      .join("")}</tool_call>`,
  glmTight: (name, args) =>
    `<tool_call>${name}${Object.entries(args)
      .map(([key, value]) => `<arg_key>${key}</arg_key><arg_value>${value}</arg_value>`)
      .join("")}</tool_call>`,
  seed: (name, args) =>
    `<seed:tool_call>\n<function=${name}>\n${Object.entries(args)
      .map(([key, value]) => `<parameter=${key}>${value}</parameter>\n`)
      .join("")}</function>\n</seed:tool_call>`,
  miniMax: (name, args) =>
    `<minimax:tool_call>\n<invoke name="${name}">\n${Object.entries(args)
      .map(([key, value]) => `<parameter name="${key}">${value}</parameter>\n`)
      .join("")}</invoke>\n</minimax:tool_call>`,
  deepSeek: (name, args) =>
    `<｜DSML｜function_calls>\n<｜DSML｜invoke name="${name}">\n${Object.entries(args)
      .map(
        ([key, value]) =>
          `<｜DSML｜parameter name="${key}" string="${isText(key, value)}">${value}</｜DSML｜parameter>\n`,
      )
      .join("")}</｜DSML｜invoke>\n</｜DSML｜function_calls>`,
  deepSeekLater: (name, args) =>
    written.deepSeek(name, args).replaceAll("function_calls", "tool_calls"),
  hy: (name, args) =>
    `<tool_calls:opensource>\n<tool_call:opensource>${name}<tool_sep:opensource>\n${Object.entries(
      args,
    )
      .map(
        ([key, value]) =>
          `<arg_key:opensource>${key}</arg_key:opensource>\n<arg_value:opensource>${value}</arg_value:opensource>\n`,
      )
      .join("")}</tool_call:opensource>\n</tool_calls:opensource>`,
  miniMaxTags: (name, args) =>
    `${tag}<tool_call>\n${tag}<invoke name="${name}">${Object.entries(args)
      .map(([key, value]) => `${tag}<${key}>${value}${tag}</${key}>`)
      .join("")}${tag}</invoke>\n${tag}</tool_call>`,
  miniCpm: (name, args) =>
    `<function name="${name}">${Object.entries(args)
      .map(([key, value]) => `<param name="${key}">${value}</param>`)
      .join("")}</function>`,
  kimiTags: (name, args) =>
    `<|open|>tools<|sep|><|open|>call tool="${name}" index="1"<|sep|>${Object.entries(args)
      .map(
        ([key, value]) =>
          `<|open|>argument key="${key}" type="${isText(key, value) ? "string" : "object"}"<|sep|>${value}<|close|>argument<|sep|>`,
      )
      .join("")}<|close|>call<|sep|><|close|>tools<|sep|>`,
  gigaChat: (name, args) => written.deepSeekLater(name, args).replaceAll("DSML", "GCML"),
};
const names = Object.keys(written) as (keyof typeof written)[];

describe.each(names)("calls as %s writes them", (name) => {
  const call = written[name];
  const readAll = (answer: string) =>
    [...cuts(answer)].map((pieces) => {
      const { text, calls } = read(forms[name], pieces, known);
      return { text, calls };
    });

  it("are read wherever they are cut", () => {
    const answer = `I look.${call("edit", { path: "a b", lines: "3" })}\n${call("stop", {})}`;
    const calls = [
      ["edit", { path: "a b", lines: 3 }],
      ["stop", {}],
    ];
    for (const told of readAll(answer)) expect(told).toEqual({ text: "I look.", calls });
  });

  it.each([
    ["text that looks like a number", "path", "12", "12"],
    ["text in quotes", "path", '"a"', '"a"'],
    ["text with blanks and lines", "path", "  a\n\n b\n", "  a\n\n b\n"],
    ["no text", "path", "", ""],
    ["a number", "lines", "-12", -12],
    ["what is none", "lines", "many", "many"],
    ["a boolean", "force", "true", true],
    ["a boolean, as Python has it", "force", "False", false],
    ["a list", "marks", '["a", "b"]', ["a", "b"]],
    ["an object, by a reference", "more", '{"a": 1}', { a: 1 }],
    ["one of several texts", "mode", "1", "1"],
    ["a text or a number", "some", "1.5", 1.5],
    ["a text or a number, in quotes", "some", '"1.5"', '"1.5"'],
    ["nothing", "some", "null", null],
    ["what nothing is said of", "free", '{"a": [1]}', { a: [1] }],
    ["what nothing is said of, a text", "free", "a: 1", "a: 1"],
  ])("have arguments of their schema's types: %s", (_, key, text, value) => {
    const { calls } = read(forms[name], [call("edit", { [key]: text })], known);
    expect(calls).toEqual([["edit", { [key]: value }]]);
  });

  it("may have marks in their arguments", () => {
    const marks = call("stop", { path: "x" })
      .replace(/<\/\S*(function|_calls?|invoke)(:\w+)?>/g, "")
      .replace(/<\|close\|>(call|tools)<\|sep\|>/g, "");
    const path = `${marks} </tool_call`;
    for (const { calls } of readAll(call("edit", { path, lines: "1" }))) {
      expect(calls).toEqual([["edit", { path, lines: 1 }]]);
    }
  });

  it.each([
    ["another function", call("rm", { path: "/" })],
    [
      "cut short",
      call("edit", { path: "a" })
        .replace(/(<\/[^\s<>]*)(function|invoke|tool_call)(:\w+)?>.*/s, "$1")
        .replace(/(<\|close\|>ca)ll.*/s, "$1"),
    ],
    ["a mark alone", "a <tool_call> b"],
    ["half of one", "a <tool_"],
    ["no name", "<tool_call> <b>"],
  ])("that are none come out as the text that they are: %s", (_, answer) => {
    for (const told of readAll(answer)) expect(told).toEqual({ text: answer, calls: [] });
  });

  it("hold back no text that is none of theirs, and nothing of them comes out", () => {
    const { steps } = read(forms[name], [..."1 < 2.", ...call("stop", {})], known);
    expect(steps.slice(0, "1 < 2.".length).join("")).toBe("1 < 2.");
    expect(steps.slice("1 < 2.".length).join("")).toBe("");
  });
});

describe("values in tags within each other, as MiniMax-M3's", () => {
  const of = (name: string, inner: string) => `${tag}<${name}>${inner}${tag}</${name}>`;
  const call = (inner: string) =>
    `${tag}<tool_call>\n${tag}<invoke name="edit">${of("path", "a")}${inner}${tag}</invoke>\n${tag}</tool_call>`;
  const { $defs, properties } = schema;
  const tree = {
    type: "object",
    properties: { of: { $ref: "#/$defs/tree" }, n: { type: "number" } },
  };
  const more = {
    marks: properties.marks,
    entries: { type: "array", items: { type: "object", properties: { id: { type: "integer" } } } },
    tree: { $ref: "#/$defs/tree" },
    some: { anyOf: [{ type: "integer" }, properties.more] },
    any: { type: "object", additionalProperties: { type: "string" } },
    label: { anyOf: [{ type: "string" }, { type: "object" }] },
  };
  const tools = new Map<string, JsonObject>([
    [
      "edit",
      {
        type: "object",
        properties: { path: { type: "string" }, ...more },
        $defs: { ...$defs, tree },
      },
    ],
  ]);
  const ids = of("item", of("id", "1")) + of("item", `\n${of("id", "x")}\n`);

  it.each([
    ["a list of texts", of("marks", of("item", "1") + of("item", " b")), { marks: ["1", " b"] }],
    ["a list of objects", of("entries", ids), { entries: [{ id: 1 }, { id: "x" }] }],
    ["an object within itself", of("tree", of("of", of("n", "2"))), { tree: { of: { n: 2 } } }],
    ["one of several", of("some", of("a", "2")), { some: { a: 2 } }],
    ["the other one", of("some", "2"), { some: 2 }],
    [
      "members of any name",
      of("any", of("a", "1") + of("__proto__", "2")),
      { any: JSON.parse('{"a":"1","__proto__":"2"}') },
    ],
    ["nothing", of("marks", "") + of("any", ""), { marks: [], any: {} }],
    ["a list in JSON", of("marks", '["a"]'), { marks: ["a"] }],
    ["what may be a text", of("label", of("b", "x")), { label: of("b", "x") }],
    [
      "what nothing is said of",
      of("free", of("item", "1") + of("item", "true")),
      { free: [1, true] },
    ],
    [
      "members of what nothing is said of",
      of("free", of("a", of("b", "x"))),
      { free: { a: { b: "x" } } },
    ],
    [
      "tags that don't fit each other",
      of("free", `${tag}<a>1${tag}</b>`),
      { free: `${tag}<a>1${tag}</b>` },
    ],
    ["text beside tags", of("free", `${of("a", "1")}b`), { free: `${of("a", "1")}b` }],
  ])("are %s", (_, inner, args) => {
    for (const pieces of cuts(call(inner))) {
      expect(read(forms.miniMaxTags, pieces, tools)).toMatchObject({
        text: "",
        calls: [["edit", { path: "a", ...args }]],
      });
    }
  });

  it("are text where they are ever deeper", () => {
    const deep = `${tag}<a>`.repeat(5000) + `${tag}</a>`.repeat(5000);
    const { calls } = read(forms.miniMaxTags, [call(of("free", deep))], tools);
    expect(calls[0]?.[1].free).toBe(deep);
  });
});

describe("values between marks of their own, as MiniCPM's", () => {
  const call = (path: string, more = "") =>
    `<function name="edit"><param name="path">${path}</param>${more}</function>`;
  const told = (text: string) =>
    [...cuts(text)].map((pieces) => read(forms.miniCpm, pieces, known).calls);

  it.each([
    [
      "may have other marks in them",
      "<![CDATA[<a></param></function>]]>",
      "<a></param></function>",
    ],
    ["may have lines", "<![CDATA[\n a\n]]>", "\n a\n"],
    ["may have lines around them", "\n<![CDATA[a]]>\n", "a"],
    ["are none behind a text", "a <![CDATA[b]]>", "a <![CDATA[b]]>"],
  ])("%s", (_, path, value) => {
    const calls = told(call(path, '<param name="lines"><![CDATA[3]]></param>'));
    for (const all of calls) expect(all).toEqual([["edit", { path: value, lines: 3 }]]);
  });
});

describe.each([
  ["miniMax", "</invoke>\n"],
  ["deepSeek", "</｜DSML｜invoke>\n"],
  ["hy", "</tool_call:opensource>\n"],
  ["miniMaxTags", `${tag}</invoke>\n`],
] as const)("several calls of %s in one section", (name, close) => {
  const [first, second] = [
    written[name]("edit", { path: "a", lines: "3" }),
    written[name]("stop", {}),
  ];
  const [begin = "", one = ""] = first.split(/(?<=^\S*\n)/);
  const [, two = ""] = second.split(/(?<=^\S*\n)/);
  const both = begin + one.slice(0, one.indexOf(close) + close.length) + two;

  it("are read wherever they are cut", () => {
    for (const pieces of cuts(`I look.\n\n${both}`)) {
      expect(read(forms[name], pieces, known)).toMatchObject({
        text: "I look.\n\n",
        calls: [
          ["edit", { path: "a", lines: 3 }],
          ["stop", {}],
        ],
      });
    }
  });
});

describe("DeepSeek's arguments", () => {
  const argument = (key: string, value: string, isText: boolean) =>
    read(
      forms.deepSeek,
      [
        `<｜DSML｜invoke name="edit"><｜DSML｜parameter name="${key}" string="${isText}">${value}</｜DSML｜parameter></｜DSML｜invoke>`,
      ],
      known,
    ).calls;

  it.each([
    ["free", "12", true, "12"],
    ["free", "12", false, 12],
    ["some", "1.5", true, "1.5"],
    ["some", "1.5", false, 1.5],
    ["lines", "12", true, 12],
    ["path", "12", false, "12"],
  ])(
    "say whether they are texts, where the schema does not: %s, %s, %s",
    (key, text, is, value) => {
      expect(argument(key, text, is)).toEqual([["edit", { [key]: value }]]);
    },
  );

  it("that say neither are none", () => {
    expect(argument("free", "12", "maybe" as never)).toEqual([]);
  });
});

describe("Qwen's calls", () => {
  it("are read also without the first mark, and with little around their arguments", () => {
    const call = "<function=edit><parameter=path>a</parameter></function></tool_call>";
    for (const pieces of cuts(`So: ${call}`)) {
      expect(read(forms.qwen, pieces, known)).toMatchObject({
        text: "So: ",
        calls: [["edit", { path: "a" }]],
      });
    }
  });
});

describe("a grammar of calls", () => {
  const grammarOf = (name: keyof typeof forms, tools: Tool[], more: Partial<LLMRequest> = {}) =>
    grammarOfCalls(forms[name], tools, more);

  it("has DeepSeek say of each argument whether it is a text", async () => {
    const said = (key: string, value: string, isText: boolean) =>
      written
        .deepSeek("edit", { path: "a", [key]: value })
        .replace(/(name="(?!path)\w+" string=)"\w+"/, `$1"${isText}"`);
    const made = await grammarOf("deepSeek", [functionTool("edit", schema)]);
    const any = await grammarOf("deepSeek", [functionTool("edit", {})]);
    for (const [key, value, isText] of [
      ["lines", "1", false],
      ["mode", "1", true],
      ["some", "any", true],
      ["some", "1.5", false],
    ] as const) {
      expect([key, fits(made, said(key, value, isText))]).toEqual([key, true]);
      // Of texts and numbers a text may look like a number.
      const mayBeBoth = value === "1.5";
      expect([key, value, fits(made, said(key, value, !isText))]).toEqual([key, value, mayBeBoth]);
    }
    expect(fits(any, said("x", "[1", true))).toBe(true);
    expect(fits(any, said("x", "[1]", false))).toBe(true);
    expect(fits(any, said("x", "[1", false))).toBe(false);
  });

  it("has several calls in one section, or each in its own", async () => {
    const tools = [functionTool("stop", { type: "object", additionalProperties: false })];
    const twice = (name: keyof typeof forms) => {
      const one = written[name]("stop", {});
      const [, begin = "", call = "", end = ""] = /^(<\S*_calls?>\n)(.*\n)(.*)$/s.exec(one) ?? [];
      return { apart: one + one, together: begin + call + call + end };
    };
    for (const name of ["miniMax", "deepSeek", "deepSeekLater"] as const) {
      const made = await grammarOf(name, tools);
      expect(fits(made, twice(name).together)).toBe(true);
      expect(fits(made, twice(name).apart)).toBe(false);
      const single = await grammarOf(name, tools, { parallelToolCalls: false });
      expect(fits(single, twice(name).together)).toBe(false);
    }
    expect(fits(await grammarOf("seed", tools), twice("seed").apart)).toBe(true);
  });

  it.each(names)("lets through what fits, and nothing else: %s", async (name) => {
    const call = written[name];
    const made = await grammarOf(name, [functionTool("edit", schema), functionTool("stop", {})]);
    const fitting = [
      call("edit", { path: "a < b </param \n</p>" }),
      call("edit", { path: "", lines: "12", force: "true", marks: '["a"]', more: '{"a": 1}' }),
      call("edit", { path: "a", mode: "2", some: "any", free: '"any"' }),
      call("edit", { path: "a", some: "null" }),
      call("stop", {}),
      // No names but known ones are possible where they are tags.
      ...(name === "miniMaxTags" ? [] : [call("stop", { any: "x" })]),
      ...(forms[name].several === "apart" ? [call("stop", {}) + call("edit", { path: "a" })] : []),
    ];
    const others = [
      call("edit", {}),
      call("edit", { lines: "1" }),
      call("edit", { path: "a", lines: "x" }),
      call("edit", { path: "a", lines: '"1"' }),
      call("edit", { path: "a", mode: "3" }),
      call("edit", { path: "a", more: "[]" }),
      call("edit", { path: "a", other: "x" }),
      call("rm", {}),
      "no",
    ];
    for (const text of fitting) expect([text, fits(made, text)]).toEqual([text, true]);
    for (const text of others) expect([text, fits(made, text)]).toEqual([text, false]);
  });

  it.each(names)("holds texts to their lengths, formats and values: %s", async (name) => {
    const call = written[name];
    const properties = {
      a: { type: "string", minLength: 2, maxLength: 3 },
      b: { type: "string", format: "date" },
      c: { anyOf: [{ const: "x<y" }, { type: "null" }, { type: "boolean" }] },
    };
    const made = await grammarOf(name, [functionTool("edit", { type: "object", properties })]);
    const fitting = [{ a: "ab" }, { a: "a\nb" }, { b: "2024-02-28" }, { c: "x<y" }, { c: "null" }];
    const others = [{ a: "a" }, { a: "abcd" }, { b: "2024-02-30" }, { c: "x" }, { c: "1" }];
    for (const args of fitting)
      expect([args, fits(made, call("edit", args as never))]).toEqual([args, true]);
    for (const args of others)
      expect([args, fits(made, call("edit", args as never))]).toEqual([args, false]);
  });

  it.each(names)(
    "takes any arguments where it can't hold them to their schema: %s",
    async (name) => {
      const hard = { type: "object", properties: { a: { type: "string", pattern: "a" } } };
      const made = await grammarOf(name, [functionTool("edit", hard)]);
      expect(fits(made, written[name]("edit", { a: "b" }))).toBe(true);
      const other = written[name]("edit", { a: "b", c: "d" });
      expect(fits(made, other)).toBe(name !== "miniMaxTags");
      const strict = functionTool("edit", hard);
      if (strict.function) strict.function.strict = true;
      await expect(grammarOf(name, [strict])).rejects.toThrow('"pattern"');
    },
  );

  const doubled = [...Array(60).keys()].map((i) => [
    `a${i}`,
    { anyOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] },
  ]);
  it.each([
    ["by itself", { a0: { anyOf: [{ type: "string" }, { $ref: "#/$defs/a0" }] } }],
    ["by itself alone", { a0: { $ref: "#/$defs/a0" } }],
    ["twice by others", { ...Object.fromEntries(doubled), a60: { type: "string" } }],
  ])("is made in no time of what is referred to %s", async (_, $defs) => {
    const schema = { type: "object", properties: { x: { $ref: "#/$defs/a0" } }, $defs };
    const call = written.qwen("edit", { x: "1" });
    expect(fits(await grammarOf("qwen", [functionTool("edit", schema)]), call)).toBe(true);
    const { calls } = read(forms.qwen, [call], new Map([["edit", schema]]));
    expect(calls).toEqual([["edit", { x: expect.anything() }]]);
  });

  it("has room for tools with many texts", async () => {
    const texts = Object.fromEntries(
      [...Array(60).keys()].map((i) => [`a${i}`, { type: "string" }]),
    );
    const made = await grammarOf("qwen", [
      functionTool("edit", { type: "object", properties: texts }),
    ]);
    expect(fits(made, written.qwen("edit", { a0: "x", a59: "y" }))).toBe(true);
  });
});
