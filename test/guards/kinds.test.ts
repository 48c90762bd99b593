/** Kinds of data that are found by their form. */
import { describe, expect, test } from "vitest";
import { type Kind, kinds } from "../../src/guards/kinds.js";

const foundIn = (kind: Kind, text: string) =>
  kinds[kind].find(text).map(({ start, end }) => text.slice(start, end));

/** Keys in the forms that their makers give them, of no account. */
const key = "0123456789abcdefABCDEF0123456789abcdefghijkl";
const hex = "0123456789abcdef".repeat(2);
const pem = (begin: string, body: string) =>
  `-----BEGIN ${begin}-----\n${body}\n-----END ${begin}-----`;
/** A line of one, with all that may be in it. */
const body = `+/${key}+/`;
const encrypted = pem(
  "RSA PRIVATE KEY",
  `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,${"0123".repeat(8)}\n\n${body}`,
);

const of = (word: string) => `A@B.${word}`;

describe.each<[Kind, found: string[], not: string[]]>([
  [
    "email",
    [
      "me@example.com",
      "first.last+tag@mail.example.co.uk",
      "müller@bücher.example",
      "a@xn--bcher-kva.xn--p1ai",
      `${"x".repeat(64)}@a.de`,
      "f_l%x-2@3m.a1b.m3.com",
      "a@b.xn--a-b",
      "me@transpose.example.com",
      "me@example.transposes",
      "git@example.com",
      "legit@example.com",
    ],
    [
      ...[
        "@example.com",
        "me@localhost",
        "me@example",
        "a @ b.com",
        "npm@1.2.3",
        "me@-a-.c0",
        "me@b.c",
      ],
      // Where repositories are.
      "git@example.com:team/repository.git",
      "ssh://git@example.com/team/repository.git",
      // Products of matrices.
      ...["q@k.unsqueeze(1)", "A@B.T.conj()", "x@w.numpy().sum"],
      ...["transpose", "swapaxes", "permute", "reshape", "flatten", "ravel", "squeeze"].map(of),
      ...["contiguous", "astype", "conjugate", "adjoint", "inverse", "detach", "tolist"].map(of),
    ],
  ],
  [
    "credit_card",
    [
      // The test numbers of the networks.
      "4111111111111111",
      "4111 1111 1111 1111",
      "4111-1111-1111-1111",
      "4222222222222",
      "5555555555554444",
      "2223003122003222",
      "378282246310005",
      "3782 822463 10005",
      "30569309025904",
      "6011111111111117",
      "3530111333300000",
      "6200000000000005",
      "4111.1111.1111.1111",
      "4111\t1111\t1111\t1111",
      "4111_1111_1111_1111",
      "4111/1111/1111/1111",
      "4111 – 1111 – 1111 – 1111",
      "4111\u2009\u20091111\u2009\u20091111\u2009\u20091111",
      "3782.822463.10005",
      "3056.930902.5904",
      "4.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1",
      "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
      // As two phone numbers are, but for the end of the second, or its begin.
      "415-555-0177 503",
      "411-111-1111-111-111",
    ],
    [
      "4111111111111112",
      "1111111111111117",
      "41111111111111112",
      "4111  1111 1111 1111",
      "0000000000000000",
      "20261127195502",
      // All of these have a card's begin, length and checksum, and something else tells that they are none.
      "0.4111111111111111",
      "+49 170 0000 0019",
      "415-555-0177 503-555-0160",
      "567-555-0147 415-555-0161",
      "1-567-555-0189 1-503-555-0119",
      "415 555 0140 360 555 0181",
      "27-01-2015 08-04-2001",
      // Ids and hashes.
      "cde82b18-918d-4560-8373-06413d284b72",
      "CDE82B18-918D-4560-8373-06413D284B72",
      "fc94d5622300366561026b0cdb2cb910d9cc901347981067330efcd8cdd7c335",
      "135ff4750778131074c700e9c568c7b931e7fdad",
      // Rows of digits, of which each part has as many as a card.
      "0 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
      "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 9",
      "25 2007-03-06 1998-11",
      "4.111111111111111",
      "4111111.111111111",
      "41.11.111.11 1.11.111.1",
      "4.111.111.111.111.111",
      "4.1 1.1 1.1 1.1 1.1 1.1 1.1 1.1",
      "7000\t4111\t1111\t1111\t1111",
      "4111  1111  1111  1111  7000",
      "4111, 1111, 1111, 1111",
      "4111\n1111\n1111\n1111",
    ],
  ],
  [
    "iban",
    [
      // The examples of the registry.
      "DE89370400440532013000",
      "DE89 3704 0044 0532 0130 00",
      "GB29 NWBK 6016 1331 9268 19",
      "FR14-2004-1010-0505-0001-3M02-606",
      "DE89.3704.0044.0532.0130.00",
      "DE89\t3704\t0044\t0532\t0130\t00",
      "NO9386011117947",
      "mt84malt011000012345mtlcast001s",
    ],
    [
      "DE89370400440532013001",
      "DE8937040044053201300",
      "XDE89370400440532013000",
      "DE893704004405320130000",
      "ZZ89370400440532013000",
    ],
  ],
  [
    "api_key",
    [
      `sk-proj-${key}`,
      `sk-ant-api03-${key}`,
      `sk_live_${key}`,
      `ghp_${key}`,
      `github_pat_${key}`,
      `glpat-${key}`,
      "AKIA0123456789ABCDEF",
      `AIza${key.slice(0, 35)}`,
      `xoxb-${key}`,
      `hf_${key}`,
      `gsk_${key}`,
      `xai-${key}`,
      `nvapi-${key}`,
      `pplx-${key}`,
      `lt_${key.slice(0, 43)}`,
      `glpat-${key.slice(0, 27)}.01.0w1abcdef`,
      `glrt-${key.slice(0, 27)}.0w1abcdef`,
      `xoxe.xoxp-1-${key}`,
      `xapp-1-A0123-0123-${key}`,
      `xoxd-${key}%2B${key}%3D%3D`,
      `xoxd-${key}+/${key}==`,
      `hooks.slack.com/services/T0123/B0123/${key}`,
      `whsec_${key}+/==`,
      `ABSK${key}+/${key}+/${key}==`,
      `bedrock-api-key-${key}+/${key}=`,
      `sk-lf-0123abcd-0123-abcd-0123-0123456789ab`,
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
      `eyJ${"a".repeat(500)}.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P`,
      `eyJhbGciOiJkaXIifQ..${key}.${key}.${key}`,
    ],
    [
      "sk-short",
      // Words, as in names of classes and pages.
      "sk-toggleable__label-arrow",
      "sk-learn-tutorial-for-beginners-2024",
      "task-list-of-many-words-here",
      "AKIA0123",
      "hf_model",
      "eyJ",
      "ask-me-anything-about-it",
      ...["A", "z", "0"].map((ahead) => `${ahead}sk-${key}`),
    ],
  ],
  [
    "private_key",
    [
      pem("PRIVATE KEY", `${body}\n${body}==`),
      encrypted,
      pem("OPENSSH PRIVATE KEY", body).replaceAll("\n", "\\n"),
      `-----BEGIN EC PRIVATE KEY-----\n${body}`,
      pem("PGP PRIVATE KEY BLOCK", `Version: GnuPG v2.0.22 (GNU/Linux)\n\n${body}\n=abcd`),
      ...["\r\n", "\\r\\n"].map((end) => encrypted.replaceAll("\n", end)),
      encrypted.replaceAll("/", "\\/").replaceAll("\n", "\\n"),
      // In YAML, in a string of JSON within another, in code and lists, and quoted.
      encrypted.replaceAll("\n", "\n            "),
      encrypted.replaceAll("\n", "\\\\n"),
      ...[
        '\\n"+"',
        "\\n'+'",
        '\\n" +\n    "',
        '\\n" \\\n"',
        "\\n'\n    '",
        '",\n"',
        '\\\\\\",\\\\n\\\\\\"',
        '\\\\\\\\n\\\\\\" +\\\\n  \\\\\\"',
        "\n> ",
        "\n# ",
      ].flatMap((between) =>
        [pem("RSA PRIVATE KEY", `${body}\n${body}\nQQ==`), encrypted].map((text) =>
          text.replaceAll("\n", between),
        ),
      ),
    ],
    [pem("PUBLIC KEY", key), pem("CERTIFICATE", key), "-----BEGIN"],
  ],
])("%s", (kind, found, not) => {
  test.each(found)("finds %s, alone and in a sentence", (text) => {
    expect(foundIn(kind, text)).toEqual([text]);
    expect(foundIn(kind, `Take (${text}), or ${text}!`)).toEqual([text, text]);
  });

  test.each(not)("finds nothing in %s", (text) => {
    expect(foundIn(kind, text)).toEqual([]);
    expect(foundIn(kind, `Take (${text}), or not.`)).toEqual([]);
  });

  test.each(found)("holds back the begin of %s", (text) => {
    for (let length = 1; length <= text.length; length++) {
      const said = `Take ${text.slice(0, length)}`;
      const [whole] = kinds[kind].find(said);
      // Either it is open where it begins, or what is there already is found, up to the end.
      const from = Math.min(
        kinds[kind].open(said),
        whole?.end === said.length ? whole.start : said.length,
      );
      expect([said, from <= 5]).toEqual([said, true]);
    }
  });

  test("holds back nothing of a sentence", () => {
    const text = "The quick brown fox jumps over the lazy dog, and then some more. ";
    expect(kinds[kind].open(text)).toBe(text.length);
  });
});

test.each<[Kind, string]>([
  ["email", "me@example.com"],
  ["iban", "DE89370400440532013000"],
  ["api_key", `sk-${key}`],
])("%s %s is found where JSON has the end of a line before it", (kind, text) => {
  const json = JSON.stringify({ said: `first\n${text}\t${text}` });
  expect(foundIn(kind, json)).toEqual([text, text]);
  const begun = json.slice(0, json.indexOf(text) + 2);
  expect(kinds[kind].open(begun)).toBeLessThanOrEqual(begun.length - 2);
});

test.each([
  ["sk-", 20],
  ...["sk_live_", "sk_test_", "rk_live_", "rk_test_"].map((begin): [string, number] => [begin, 16]),
  ...["gho_", "ghp_", "ghr_", "ghs_", "ghu_"].map((begin): [string, number] => [begin, 30]),
  ["github_pat_", 22],
  ...["glagent-", "glcbt-", "gldt-", "glffct-", "glft-", "glimt-", "gloas-", "glpat-"].map(
    (begin): [string, number] => [begin, 20],
  ),
  ...["glptt-", "glrt-", "glrtr-", "glsoat-", "glwt-", "ya29."].map((begin): [string, number] => [
    begin,
    20,
  ]),
  ...["AKIA", "ASIA", "ABIA"].map((begin): [string, number] => [`${begin}0123456789`, 6]),
  ["AIza", 35],
  ["AQ.", 40],
  ["GOCSPX-", 28],
  ...["xoxb-", "xoxe.xoxp-", "xapp-1-", "xoxd-"].map((begin): [string, number] => [begin, 10]),
  ["hooks.slack.com/workflows/", 20],
  ["whsec_", 24],
  [`ABSK${key}${key}`, 12],
  [`bedrock-api-key-${key}`, 16],
  [`SG.${key.slice(0, 16)}.`, 16],
  ...["hf_", "api_org_"].map((begin): [string, number] => [begin, 30]),
  ["npm_", 36],
  [`pypi-AgE${key}`, 6],
  ...["dckr_pat_", "dckr_oat_"].map((begin): [string, number] => [begin, 27]),
  ...["doo_", "dop_", "dor_"].map((begin): [string, number] => [`${begin}v1_${hex}`, 32]),
  ["dapi", 32],
  ["shpat_", 32],
  ...["hvb.", "hvr.", "hvs."].map((begin): [string, number] => [begin, 24]),
  ...["gsk_", "xai-", "nvapi-", "pplx-", "csk-"].map((begin): [string, number] => [begin, 40]),
  ["r8_", 37],
  [`ATATT3${key}`, 16],
  [`glsa_${hex}_`, 8],
  ["glc_eyJ", 30],
  ...["lin_api_", "lin_oauth_", "ntn_", "phx_", "phs_"].map((begin): [string, number] => [
    begin,
    40,
  ]),
  [`pat${key.slice(0, 14)}.${hex}`, 32],
  ["figd_", 38],
  ...[`sbp_${hex}`, `sbp_v0_${hex}`].map((begin): [string, number] => [begin, 8]),
  ["sb_secret_", 20],
  [`PMAK-${hex.slice(0, 24)}-${hex}`, 2],
  [`NRAK-${"A1".repeat(10)}`, 7],
  ...["pt", "sk"].map((of): [string, number] => [`lsv2_${of}_${hex}_`, 10]),
  ...["tvly-", "tvly-dev-", "tvly-prod-"].map((begin): [string, number] => [begin, 32]),
  ...["dp.pt.", "dp.st.prd_main."].map((begin): [string, number] => [begin, 40]),
  [`pul-${hex}`, 8],
  [`${key.slice(0, 14)}.atlasv1.${key}`, 16],
  [`AGE-SECRET-KEY-1${"A1".repeat(25)}`, 8],
  ["lt_", 43],
  [`eyJ${key.slice(0, 10)}.`, 10],
])("the shortest key with %s has %i characters behind it", (begin, length) => {
  const ofHex = /^(?:do|dapi|shp|glsa|pat|sbp|PMAK|lsv2|pul)/.test(begin);
  const shortest = begin + (ofHex ? hex : key).slice(0, length);
  expect(foundIn("api_key", `Take ${shortest}, please`)).toEqual([shortest]);
  expect(foundIn("api_key", `Take ${shortest.slice(0, -1)}, please`)).toEqual([]);
});

/** Digits of so many places that begin with these, and have Luhn's checksum. */
function numbered(begin: string, length: number): string {
  const without = begin.padEnd(length - 1, "0");
  const sum = [...without].reduceRight((sum, digit, i) => {
    const value = (without.length - i) % 2 === 1 ? 2 * Number(digit) : Number(digit);
    return sum + (value > 9 ? value - 9 : value);
  }, 0);
  return without + ((10 - (sum % 10)) % 10);
}

test("cards of each network are found by how they begin, and how long these are", () => {
  const of = (lengths: readonly number[], begins: readonly string[]) =>
    begins.flatMap((begin) => lengths.map((length) => numbered(begin, length)));
  const longer = [16, 17, 18, 19];
  const cards = [
    ...of([13, 16, 19], ["4"]),
    ...of([16], ["51", "55", "2221", "2229", "2230", "2299", "23", "26", "270", "271", "2720"]),
    ...of([15], ["34", "37"]),
    ...of([14], ["300", "305", "36", "38", "39"]),
    ...of(longer, ["6011", "644", "649", "65", "62", "3528", "3529", "3530", "3589"]),
    ...of(longer, ["50", "56", "58", "63", "67"]),
  ];
  expect(cards.filter((card) => foundIn("credit_card", card)[0] !== card)).toEqual([]);
  const others = [
    ...of([14, 15, 17, 18], ["4"]),
    ...of([15, 17], ["51", "2221"]),
    ...of(
      [16],
      ["2220", "2721", "34", "36", "3527", "3590", "59", "60", "6012", "643", "66", "68"],
    ),
    ...of([14], ["306", "35", "37"]),
    ...of([15], ["36", "65", "50", "62"]),
    ...of([16], ["1", "7", "8", "9"]),
  ];
  expect(others.flatMap((number) => foundIn("credit_card", number))).toEqual([]);
});

test("no address begins within another one", () => {
  expect(foundIn("email", "a@b.com.x@c.de")).toEqual(["a@b.com", ".x@c.de"]);
});

test("a card is found beside other digits", () => {
  expect(foundIn("credit_card", "+4111 1111 1111 1111")).toEqual(["4111 1111 1111 1111"]);
  expect(foundIn("credit_card", "4111 1111 1111 1111 123")).toEqual(["4111 1111 1111 1111"]);
  expect(foundIn("credit_card", "12 4111 1111 1111 1111, 7")).toEqual(["4111 1111 1111 1111"]);
  expect(foundIn("credit_card", "card4111111111111111exp")).toEqual(["4111111111111111"]);
  // Too short for a hash, in a longer word, and an id without a letter.
  for (const [ahead, number, behind] of [
    ["abcdef", "4111111111111111", "abcdef"],
    ["a".repeat(16), "4111111111111111", "z"],
    ["z", "4111111111111111", "a".repeat(16)],
    ["", "41111111-1111-1111", "-0000-000000000000"],
  ] as const) {
    expect(foundIn("credit_card", ahead + number + behind)).toEqual([number]);
  }
  // No phone numbers begin so.
  expect(foundIn("credit_card", "411-111-1111 111-111-1234")).toEqual(["411-111-1111 111-111"]);
  const both = ["4111111111111111", "5555555555554444"];
  expect(foundIn("credit_card", both.join(" "))).toEqual(both);
});

test("of a private key all is found up to the next one, and nothing of words about it", () => {
  const begun = "-----BEGIN PRIVATE KEY-----";
  const cut = `${begun}\n${key}\n-----END PRIV`;
  const next = pem("EC PRIVATE KEY", key);
  expect(foundIn("private_key", `${cut}${next}`)).toEqual([cut, next]);
  expect(foundIn("private_key", `${next}${next}`)).toEqual([next, next]);
  expect(foundIn("private_key", `Files begin with "${begun}", then "come lines" of 64.`)).toEqual([
    begun,
  ]);
  // Of these words no more is held back, either.
  const words = `It says "${begun}", then come lines of as many letters each, and then the last of them`;
  expect(kinds.private_key.open(words)).toBe(words.length);
});

test("of an address ahead of a word of matrices all that is one is found", () => {
  expect(foundIn("email", "me@example.com.transpose()")).toEqual(["me@example.com"]);
});

test("an account is found before other words", () => {
  expect(foundIn("iban", "DE89 3704 0044 0532 0130 00 and then")).toEqual([
    "DE89 3704 0044 0532 0130 00",
  ]);
});

test.each(Object.keys(kinds) as Kind[])(
  "%s looks through a megabyte of anything before the test's time is over",
  (kind) => {
    const worst = ["a", "a.", "4", "4 ", "A@", "a@a.", "-", "eyJ-", "DE12 "];
    worst.push(`-----BEGIN PRIVATE KEY-----${"Aa: x".padEnd(45)}`);
    // Rows that could be parted in any number of ways.
    for (const row of ["\\", "\\n", "+ ", '", ']) {
      worst.push(`-----BEGIN PRIVATE KEY-----"${row.repeat(200)}!`);
    }
    for (const text of [...worst, "-----BEGIN PRIVATE KEY-----A: "]) {
      const whole = text.repeat(1_000_000 / text.length);
      for (const { start, end } of kinds[kind].find(whole)) expect(end).toBeGreaterThan(start);
      expect(kinds[kind].open(whole)).toBeLessThanOrEqual(whole.length);
    }
  },
  30_000,
);

test("an IBAN with a blank behind each of its letters is held from its begin on, the longest, too", () => {
  const begun = Array.from(`RU02${"7".repeat(28)}`).join(" ");
  // Its begin has no blank within.
  const text = `see RU02${begun.slice("R U 0 2".length)}`;
  expect(kinds.iban.open(text)).toBe(4);
});

test("of what stands behind a card nothing is taken for one with the groups of that card", () => {
  // From the second group on there are as many digits again, with a checksum that is right.
  expect(foundIn("credit_card", "4111 4242 0000 0008 2024")).toEqual(["4111 4242 0000 0008"]);
});
