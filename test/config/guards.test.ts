/** Guards, as they are configured. */
import { expect, test } from "vitest";
import { nameWarnings } from "../../src/config/name-warnings.js";
import { mistakes, valid } from "./text.js";

test("what a guard has where nothing is said", () => {
  const config = valid("guards: [{ name: a, type: pattern, find: [email] }]");
  expect(config.guards).toEqual([
    {
      name: "a",
      type: "pattern",
      find: ["email"],
      patterns: [],
      action: "mask",
      look_at: ["prompts"],
      messages: "all",
      models: ["*"],
      on_failure: "closed",
    },
  ]);
  expect(valid("").guards).toEqual([]);
});

test.each<[string, string, string]>([
  ["no name", "{ type: pattern, find: [email] }", "guards[0].name: is required"],
  ...[...'[]{}"\\,|'].map((sign): [string, string, string] => [
    `a name with ${sign}`,
    `{ name: 'a${sign}b', type: pattern, find: [email] }`,
    'guards[0].name: must have none of [ ] { } " \\ , and |',
  ]),
  [
    "a long name",
    `{ name: ${"a".repeat(101)}, type: pattern, find: [email] }`,
    "guards[0].name: must have at most 100 characters",
  ],
  ["nothing to find", "{ name: a, type: pattern }", "guards[0]: must have find or patterns"],
  [
    "an unknown kind",
    "{ name: a, type: pattern, find: [mail] }",
    "guards[0].find[0]: must be one of email, credit_card, iban, api_key or private_key",
  ],
  [
    "an expression that RE2 does not know",
    "{ name: a, type: pattern, patterns: ['(?<=a)b'] }",
    "guards[0].patterns[0]: must be a regular expression of RE2: invalid named capture: `(?<=a)b`",
  ],
  [
    "an expression without its end",
    "{ name: a, type: pattern, patterns: [a, '(b'] }",
    "guards[0].patterns[1]: must be a regular expression of RE2: missing closing ): `(b`",
  ],
  [
    "an author that guards do not tell apart",
    "{ name: a, type: pattern, find: [email], roles: [developer] }",
    "guards[0].roles[0]: must be one of system, user, assistant or tool",
  ],
  [
    "authors, and no prompts",
    "{ name: a, type: moderation, url: 'http://a', look_at: [answers], roles: [user] }",
    "guards[0].roles: wants prompts in look_at: answers are the model's alone",
  ],
  ...[
    "Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFy",
    "whsec_Zm9vYmFy",
    `whsec_${"Zm9vYmFy".repeat(11)}`,
    "whsec_Zm9vYmFyZm9vYmFyZm9vYmFyZm9v!mFyZm9vYmFy",
  ].map((secret): [string, string, string] => [
    `a secret ${secret}`,
    `{ name: a, type: webhook, url: 'http://a', signing_secrets: ['${secret}'] }`,
    "guards[0].signing_secrets[0]: must be whsec_ and base64 of 24 to 64 bytes: openssl rand -base64 32",
  ]),
  [
    "a memory without end",
    "{ name: a, type: moderation, url: 'http://a', remember: 36501d }",
    "guards[0].remember: must be at most 36500d",
  ],
  [
    "turns that a guard does not tell apart",
    "{ name: a, type: webhook, url: 'http://a', messages: last }",
    "guards[0].messages: must be one of all or last_turn",
  ],
  ...[
    "type: pattern, find: [email], action: block",
    "type: moderation, url: 'http://a'",
    "type: webhook, url: 'http://a'",
  ].map((fields): [string, string, string] => [
    `the last turn of answers (${fields})`,
    `{ name: a, ${fields}, look_at: [answers], messages: last_turn }`,
    "guards[0].messages: wants prompts in look_at: an answer is of the last turn anyway",
  ]),
  [
    "what is masked in the last turn alone",
    "{ name: a, type: pattern, find: [email], messages: last_turn }",
    "guards[0].messages: must be all with action: mask: callers send what was masked again with the next turn",
  ],
  [
    "a pattern of models with two *",
    "{ name: a, type: pattern, find: [email], models: ['*a*'] }",
    "guards[0].models[0]: must have at most one *",
  ],
  [
    "a moderation endpoint that is to mask",
    "{ name: a, type: moderation, url: 'http://a', action: mask }",
    "guards[0].action: must be one of block or flag",
  ],
  ["a webhook without an address", "{ name: a, type: webhook }", "guards[0].url: is required"],
  [
    "Bearer before a key",
    "{ name: a, type: webhook, url: 'http://a', api_key: Bearer x }",
    "guards[0].api_key: must be the key alone",
  ],
  [
    "a name twice",
    "{ name: a, type: pattern, find: [email] }, { name: a, type: pattern, find: [iban] }",
    "guards[1].name: is the same as that of guards[0]; must be unique",
  ],
])("%s is a mistake", (_what, guards, expected) => {
  const [line, ...more] = mistakes(`guards: [${guards}]`);
  expect(line).toContain(expected);
  expect(more).toEqual([]);
});

test("a guard of a name by which no call counts is warned of", () => {
  const config = valid(`guards: [{ name: g, type: pattern, find: [email], models: [gpt] }]
models: [{ name: chat, aliases: [gpt] }]`);
  expect(nameWarnings(config)).toEqual([
    'guards[0].models[0] "gpt" is an alias of "chat": say "chat", by which its calls count',
  ]);
});
