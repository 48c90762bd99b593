/** Keywords of JSON Schema that only some servers take, in schemas of tools and of the answer. */
import type { LLMRequest } from "../../../../gen/lintel/v1/chat_pb.js";
import { jsonText, parseMarked } from "../../../core/long-numbers.js";
import { keywordFor, keywordsIn, type Leaving, schemaWithout } from "./told-schemas.js";

/** How it is remembered that a keyword is refused, in whatever schema, and where calls or answers keep to it to the letter. */
const prefixes = { all: "schema keyword ", strict: "keyword of strict schemas " } as const;

/** Whether something that a server refused is one. */
export const isKeyword = (field: string): boolean =>
  Object.values(prefixes).some((prefix) => field.startsWith(prefix));

/** A schema of a request. */
interface Asked {
  /** In which of the request's fields. */
  readonly field: "tools" | "response_format";
  readonly text: string;
  readonly strict: boolean;
}

function schemasIn({ tools, responseFormat }: LLMRequest): Asked[] {
  const { schema = "", strict = false } = responseFormat?.jsonSchema ?? {};
  const ofTools = tools.map(({ function: tool }): Asked => {
    return { field: "tools", text: tool?.parameters ?? "", strict: tool?.strict ?? false };
  });
  const all: Asked[] = [...ofTools, { field: "response_format", text: schema, strict }];
  return all.filter(({ text }) => text !== "");
}

/** Which keywords a server refused, of a schema that is kept to by the letter or another. */
const refusedIn = (refused: ReadonlySet<string>, strict: boolean): ReadonlySet<string> =>
  new Set(
    [...refused].flatMap((field) => {
      const prefix = field.startsWith(prefixes.all)
        ? prefixes.all
        : strict && field.startsWith(prefixes.strict)
          ? prefixes.strict
          : undefined;
      return prefix === undefined ? [] : [field.slice(prefix.length)];
    }),
  );

function toldText(
  text: string,
  strict: boolean,
  refused: ReadonlySet<string>,
  lost: Leaving["lost"],
): string {
  const keywords = refusedIn(refused, strict);
  return text === "" || keywords.size === 0
    ? text
    : jsonText(schemaWithout(parseMarked(text), { keywords, lost }));
}

/** A request whose schemas have no keywords that a server refuses. @param refused what it has refused */
export function withToldSchemas(request: LLMRequest, refused: ReadonlySet<string>): LLMRequest {
  if (![...refused].some(isKeyword)) return request;
  const told = (text: string, strict = false) => toldText(text, strict, refused, new Set());
  const { tools, responseFormat } = request;
  const form = responseFormat?.jsonSchema;
  return Object.assign({}, request, {
    tools: tools.map((tool) => {
      const { function: asked } = tool;
      if (!asked) return tool;
      const parameters = told(asked.parameters, asked.strict);
      return { ...tool, function: { ...asked, parameters } };
    }),
    ...(form && {
      responseFormat: {
        ...responseFormat,
        jsonSchema: { ...form, schema: told(form.schema, form.strict) },
      },
    }),
  });
}

/** Warnings of keywords without which more is allowed than a caller asked for. */
export function keywordWarnings(
  request: LLMRequest,
  refused: ReadonlySet<string>,
): readonly string[] {
  // As a rule nothing is refused.
  if (refused.size === 0 || ![...refused].some(isKeyword)) return none;
  const warnings = new Set<string>();
  for (const { field, text, strict } of schemasIn(request)) {
    const lost = new Set<string>();
    toldText(text, strict, refused, lost);
    for (const name of lost) {
      warnings.add(`${field}: ${name} in schemas is not supported by this model, ignored`);
    }
  }
  return [...warnings];
}

/**
 * The keywords that an error names as not known, or not supported, as they are to be remembered. Where some schemas
 * are kept to by the letter, these alone are meant at first: OpenAI's servers take more in the others.
 * @param request as it was told
 * @param refused what was refused before
 */
export function keywordsToRefuse(
  words: string,
  request: LLMRequest,
  refused: ReadonlySet<string>,
): string[] {
  if (refusesGrammar.test(words)) return keywordsOfGrammar(request, refused);
  if (!mayRefuse.test(words)) return [];
  const fields = new Set<string>();
  const byStrictness = (strict: boolean) =>
    schemasIn(request)
      .filter((schema) => schema.strict === strict)
      .map(({ text }) => parseMarked(text));
  for (const strict of [true, false]) {
    for (const name of keywordsIn(byStrictness(strict))) {
      const keyword = isNamed(words, name) ? keywordFor(name) : undefined;
      const other = fields.has(`${prefixes.strict}${keyword}`);
      const field = `${strict ? prefixes.strict : prefixes.all}${keyword}`;
      if (keyword !== undefined && !other && !refused.has(field)) fields.add(field);
    }
  }
  return [...fields];
}

/** In the words of llama.cpp, LM Studio and Ollama, which make one grammar of all tools and say no more of it. */
const refusesGrammar = /\bparse grammar\b|\bparsing grammar\b|\binitialize samplers\b/i;

/** What they can't make a grammar of, the likeliest first: each group takes a request. */
const ofGrammar: readonly (readonly string[])[] = [
  ["pattern", "patternProperties"],
  ["minLength", "maxLength", "minItems", "maxItems", "format"],
  ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const"],
];

/** The first group of keywords that may be to blame, and are there. */
function keywordsOfGrammar(request: LLMRequest, refused: ReadonlySet<string>): string[] {
  const there = keywordsIn(schemasIn(request).map(({ text }) => parseMarked(text)));
  const groups = ofGrammar.map((group) =>
    group.filter((name) => there.has(name)).map((name) => prefixes.all + name),
  );
  return groups.find((group) => group.some((field) => !refused.has(field))) ?? [];
}

const none: readonly string[] = [];

const un = "un(?:known|supported|recognized|expected)";
const not = `(?:(?:is|are) )?(?:currently |yet )?(?:not (?:yet |currently )?(?:permitted|supported|allowed|recognized|implemented|valid)|${un}|disallowed)`;
const noun = "(?:keyword|property|propertie|field|attribute|name|key)s?";

const mayRefuse = new RegExp(`\\b(?:${un}|invalid|disallowed|extra|only|not|n't)\\b`, "i");

/** Words about formats of texts that name the format alone: OpenAI's, and others'. */
const refusesFormat = /\bis not a valid format\b|\b(?:unsupported|unknown) format\b/i;

/**
 * Whether words say of a keyword that it is refused: those of Google (for each of several), OpenAI, Anthropic, Cerebras, Moonshot, of
 * checks in Python and others. One that is a word of English, too, has to stand in quotes, or behind what it is.
 */
function isNamed(words: string, name: string): boolean {
  if (name.length > longestName || !words.includes(name)) return false;
  if (name === "format" && refusesFormat.test(words)) return true;
  const quote = "\\\\{0,3}[\"'`]";
  const escaped = name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  const odd = /[$A-Z_]/.test(name);
  const quoted = `(?:${quote}${escaped}${quote}${odd ? `|(?<![\\w$'"]|properties\\.)${escaped}(?![\\w$])` : ""})`;
  const bare = `(?<![\\w$])${escaped}(?![\\w$])`;
  // Nothing fits both an item and what is between two: else words could be taken apart in too many ways.
  const item = `(?:${quote})?[\\w$-]{1,40}(?:${quote})?`;
  const between = "(?:, ?(?:and |or )?| and | or )";
  const ahead = `(?:${item}${between}){0,20}?`;
  const behind = `(?:${between}${item}){0,20}?`;
  return new RegExp(
    [
      `\\b${un} (?:json )?(?:schema )?(?:${noun})?:? ?[[{(]?${ahead}${quoted}`,
      `\\b${un} (?:json )?(?:schema )?${noun}:? ${bare}`,
      `\\b${noun} ${not}:? ?[[{(]?${ahead}${quoted}`,
      `\\binvalid (?:schema )?${noun} for schema[^{]{0,80}\\{[^}]{0,400}${quoted}`,
      `${quoted}${behind}(?: ${noun})?,? ${not}`,
      `\\b${noun}:? ${ahead}${bare}${behind} ${not}`,
      `\\bn(?:o|')t support (?:the )?(?:${noun} )?${quoted}(?!.{0,40}top.level)`,
      `\\b(?:parameters|schema)\\b[\\w.$[\\]'"-]{0,300}(?<!properties)[.\\]'"]\\[?['"]?${escaped}['"]?\\]?: ?(?:extra|only|${not})`,
    ].join("|"),
    "i",
  ).test(words);
}

const longestName = 64;
