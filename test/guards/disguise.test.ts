/** Guards that look for what has a form find it in disguise, too, whole and in pieces. */
import { describe, expect, test } from "vitest";
import { undisguised } from "../../src/guards/disguise.js";
import type { Kind } from "../../src/guards/kinds.js";
import { patternChecker } from "../../src/guards/pattern.js";

const find: readonly Kind[] = ["email", "credit_card", "iban", "api_key"];
const checkerOf = (find: readonly Kind[], patterns: string[] = []) =>
  patternChecker({ name: "p", find, patterns, action: "mask" });
const checker = checkerOf(find, ["PROJECT-\\d{3}"]);

function masked(text: string): string {
  const verdict = checker.check([{ field: "x", text }], {} as never);
  return verdict instanceof Promise || verdict.action !== "replace"
    ? text
    : (verdict.texts[0] ?? "");
}

/** The same as a stream, of which pieces of some length come. */
function streamed(text: string, length: number, by = checker): string {
  let [before, held, out] = ["", "", ""];
  for (let at = 0; at < text.length; at += length) {
    held += text.slice(at, at + length);
    const { upTo, verdict } = by.look(before, held, at + length < text.length);
    out += verdict.action === "replace" ? verdict.texts[0] : held.slice(0, upTo);
    before = (before + held.slice(0, upTo)).slice(-256);
    held = held.slice(upTo);
  }
  return out;
}

const card = "4111111111111111";
const digits = (form: (digit: number) => string) => [...card].map((it) => form(+it)).join("");
const at = (code: number) => (digit: number) => String.fromCodePoint(code + digit);

describe.each([
  ["digits of full width", digits(at(0xff10)), "credit_card"],
  ["digits of mathematics", digits(at(0x1d7ce)), "credit_card"],
  ["Arabic digits", digits(at(0x660)), "credit_card"],
  ["Devanagari digits", digits(at(0x966)), "credit_card"],
  ["digits in circles", digits((digit) => String.fromCodePoint(0x245f + digit)), "credit_card"],
  ["zero-width spaces", [...card].join("\u200b"), "credit_card"],
  ["soft hyphens", [...card].join("\u00ad"), "credit_card"],
  ["byte order marks between groups", "4111\ufeff1111\ufeff1111\ufeff1111", "credit_card"],
  ["lines through digits", digits((digit) => `${digit}\u0336`), "credit_card"],
  ["digits of keycaps", digits((digit) => `${digit}\ufe0f\u20e3`), "credit_card"],
  ["control characters", "4111\u00001111\u00071111\u001b1111", "credit_card"],
  ["later control characters", "4111\u007f1111\u00841111\u009f1111", "credit_card"],
  ["blanks of URLs", "4111%201111%201111%201111", "credit_card"],
  ["blanks of HTML", "4111&nbsp;1111&nbsp;1111&#160;1111", "credit_card"],
  ["an @ of full width", "me＠example.com", "email"],
  ["an @ of URLs", "me%40example.com", "email"],
  ["an @ of an address in another's", "me%2540example%2525252Ecom", "email"],
  ["blanks of an address in another's", "4111%25201111%25201111%25201111", "credit_card"],
  ["an @ by its name in HTML", "me&commat;example&period;com", "email"],
  ["an @ of HTML in HTML", "me&amp;#64;example&amp;amp;period;com", "email"],
  ["what nobody sees by its name", "me@exa&shy;mple&zwnj;.com", "email"],
  ["an @ of JSON", "me\\u0040example.com", "email"],
  ["an @ of JavaScript", "me\\x40example.com", "email"],
  ["an @ of HTML", "me&#64;example.com", "email"],
  ["another @ of HTML", "me&#x40;example.com", "email"],
  ["joiners in a domain", "me@exa\u200dmple.c\u2060om", "email"],
  ["letters of full width", "ＤＥ８９ ３７０４ ００４４ ０５３２ ０１３０ ００", "iban"],
  ["zero-width spaces in a key", "sk\u200b-proj-0123456789ab\u200bcdefABCDEF", "api_key"],
  ["Cyrillic letters in an expression's", "РRОJЕСТ-123", "p"],
  ["a Greek letter in an expression's", "PRΟJECT-123", "p"],
  ["a Cyrillic letter at its begin, and what nobody sees", "Р\u200bROJECT-123", "p"],
  ["a Cyrillic letter at its end", "PROJECТ-123", "p"],
  ["a numeral of Rome", "PROJEⅭT-123", "p"],
  ["a Cyrillic letter in a key's begin", "ѕk-proj-0123456789abcdefABCDEF", "api_key"],
  ["an expression's", "PROJ\u00adECT-１２３", "p"],
])("%s", (_what, text, mark) => {
  test("are no disguise: the text is masked where it stands", () => {
    expect(masked(`Of 12 (${text}), or ${text} Ä!`)).toBe(`Of 12 ([${mark}]), or [${mark}] Ä!`);
  });

  test.each([1, 2, 3, 7])("nor in pieces of %i", (length) => {
    // Alone: others may hold back what it has to.
    const kind = find.find((it) => it === mark);
    const by = kind ? checkerOf([kind]) : checker;
    expect(streamed(`Of it: (${text}), or ${text} Ä!`, length, by)).toBe(
      `Of it: ([${mark}]), or [${mark}] Ä!`,
    );
  });
});

describe.each([
  "joe\\u0040b.com",
  "joe\\\\u0040b.com",
  "\\\\u006aoe@b.com",
  "\\\\\\\\u006aoe@b.com",
  "\\fjoe@b.com",
  "\\bjoe@b.com",
  "\\u000ajoe@b.com",
  "\\u0022joe@b.com\\u0022",
  `\\u0061${"j".repeat(62)}@b.com`,
  // The longest begin of an address would be within these.
  ...[60, 61, 62, 63].map((length) => `\\u0022${"j".repeat(length)}@b.com`),
  "joe@b.com\\\\",
  "\\\\u0034111 1111 1111 1111",
  "4111\\\\u00201111\\\\u00201111\\\\u00201111",
  "\\bsk-proj-0123456789abcdefABCDEF",
])("JSON with %s", (text) => {
  test.each([100, 1, 3])("stays JSON without it, in pieces of %i", (length) => {
    const said = streamed(`{"a":"${text}"}`, length);
    expect(JSON.parse(said).a).toMatch(/^\W*\[\w+\]\W*$/);
    expect(said).toBe(masked(`{"a":"${text}"}`));
  });
});

test("a private key is found as URLs have it", () => {
  const lines = `${"MIIE".repeat(16)}\n`.repeat(3);
  const key = `-----BEGIN PRIVATE KEY-----\n${lines}Q==\n-----END PRIVATE KEY-----`;
  const by = checkerOf(["private_key"]);
  for (const text of [key, key.replaceAll("\n", '\\n" +\n"')].map(encodeURIComponent)) {
    for (const length of [1, 2, 7, 5000]) {
      expect(streamed(`key=${text}&a=b`, length, by)).toBe("key=[private_key]&a=b");
    }
  }
});

describe.each([
  ["%", (code: number) => `%${code.toString(16)}`],
  ["&#", (code: number) => `&#${code};`],
  ["\\\\\\\\u", (code: number) => `\\\\u00${code.toString(16)}`],
])("a private key with %s in its lines", (_what, coded) => {
  const line = `${"MIIE".repeat(16)}\n`.repeat(8);
  const key = `-----BEGIN PRIVATE KEY-----\n${line}-----END PRIVATE KEY-----`;
  const text = key.replace(/[-E]/g, (sign) => coded(sign.charCodeAt(0)));
  const by = checkerOf(["private_key"]);

  test.each([1, 2, 3, 7])("leaves no part of it in a stream's pieces of %i", (length) => {
    expect(streamed(`A key: ${text}, `, length, by)).toBe("A key: [private_key], ");
  });
});

test("no character is cut in halves", () => {
  expect(masked(`${"𠀀".repeat(40)}a@b.com`)).toBe(`${"𠀀".repeat(9)}[email]`);
});

test("what is found as it is written is found also where it isn't without what nobody sees", () => {
  expect(masked(`${card}\u200b5`)).toBe("[credit_card]\u200b5");
  expect(masked("me@example.com\u200bmore")).not.toContain("me@");
});

test.each([
  "Grüße, naïve café, ½ and 4²",
  "你好，今天是２０２６年１１月。",
  "नमस्ते ٤٢",
  "100% of AT&T \\u12 &#x;",
  "👨‍👩‍👧 ❤️",
  "Call 415-555-0177 503-555-0160, or not.",
  "scores = Q@K.transpose(1, 0)",
  "git clone git@example.com:team/repository.git",
  "cde82b18-918d-4560-8373-06413d284b72, or 135ff4750778131074c700e9c568c7b931e7fdad.",
  // Of a letter of Linear B, and no @.
  "me&#65600;example.com",
])("%s stays as it is, whole and in pieces", (text) => {
  expect(masked(text)).toBe(text);
  // Alone, too: others may hold back what one has to.
  for (const by of [checker, ...find.map((kind) => checkerOf([kind]))]) {
    for (const length of [1, 2, 5]) expect(streamed(text, length, by)).toBe(text);
  }
});

test("what has no disguise is not searched twice", () => {
  expect(undisguised("Grüße – “quoted”, 你好。")).toBeUndefined();
});

test("rows of what nobody sees are as one", () => {
  expect(masked(`me@example.c${"\u200b\u0301".repeat(20)}om\u200b\u200b, 4111`)).toBe(
    "[email], 4111",
  );
});

test.each([
  ["\u0301", "me@example.com", "email"],
  ["-", "4111 1111 1111 1111", "credit_card"],
  ["sk-", "4111 1111 1111 1111", "credit_card"],
])(
  "rows of millions are looked through as well: %j",
  (row, secret, mark) => {
    const rows = row.repeat(6_000_000 / row.length);
    const found = masked(`${rows} x ${secret}`);
    expect(found.slice(-mark.length - 5)).toBe(` x [${mark}]`);
  },
  60_000,
);

test("of what has no end so much is held back, and no more", () => {
  const { upTo } = checker.look("", `4111${"\u200b".repeat(9000)}`, true);
  expect(upTo).toBe(9004);
  const held = checkerOf(["credit_card"]).look("", `Of 4111${"\u200b".repeat(9)}`, true);
  expect(held.upTo).toBe(3);
});

describe("letters that look alike", () => {
  const checker = checkerOf([], ["cop", "HOCT", "сор"]);
  const found = (text: string) => {
    const verdict = checker.check([{ field: "x", text }], {} as never);
    return verdict instanceof Promise || verdict.action !== "replace" ? "" : verdict.texts[0];
  };

  test("are those of their own script in words of that alone", () => {
    expect(found("Носок НОСТ хор Кор СОР; ρο")).toBe("");
    // What an expression has of them is found as it is written.
    expect(found("сорт")).toBe("[p]т");
  });

  test("are Latin beside Latin ones, where each stands", () => {
    expect(found("соp and cоp, cop")).toBe("[p] and [p], [p]");
    expect(found("USB-кабель, cop-сад")).toBe("USB-кабель, [p]-сад");
  });

  test("take no longer the longer a row of them is", () => {
    const row = "а".repeat(1_999_999);
    expect(undisguised(row)).toBeUndefined();
    expect(undisguised(`${row}b`)?.text).toHaveLength(row.length + 1);
    expect(undisguised("b".repeat(2_000_000))).toBeUndefined();
  });
});
