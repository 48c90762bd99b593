/** Marks for model servers' caches of prompts stand where they stood, whoever looks at the texts around them. */
import { expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Checker, Guard } from "../../src/core/guards/guard.js";
import { guarded, guardOf, mail } from "./guarding.js";

const secret = "me@example.com";

/** A part of text, with a mark where a time is said. */
const text = (text: string, ttl?: string) => ({
  type: "text",
  text,
  ...(ttl !== undefined && { cacheControl: { type: "ephemeral", ttl } }),
});
const picture = (ttl?: string) => ({
  ...text("", ttl),
  type: "image_url",
  imageUrl: { url: "data:image/png;base64,AAAA" },
});

/** Texts of the parts that the model is asked, each with the time of its mark. */
async function asked(guard: Guard, parts: readonly object[], role = "user") {
  const { ask, backend } = guarded([guard]);
  expect((await ask({ messages: [{ role, parts }] })).code).toBe("ok");
  const [message] = (backend.asked as LLMRequest[])[0]?.messages ?? [];
  return message?.parts.map(({ text, cacheControl }) => [text, cacheControl?.ttl]);
}

const replacing = (by: (text: string) => string): Guard => {
  const checker: Checker = {
    check: (texts) => ({
      action: "replace",
      found: [],
      texts: texts.map(({ text }) => by(text)),
    }),
  };
  return guardOf("r", checker);
};

test("marks stay where nothing is replaced, within texts, too, and at what is no text", async () => {
  const parts = [
    text("Rules. "),
    text("A book. ", "1h"),
    text("", "1h"),
    text("Who?"),
    picture("5m"),
    text("Now. ", "5m"),
    text("", "5m"),
  ];
  expect(await asked(mail(), parts)).toEqual([
    ["Rules. A book. ", "1h"],
    ["Who?", undefined],
    ["", "5m"],
    ["Now. ", "5m"],
  ]);
});

type Told = readonly (readonly [string, string | undefined])[];

test.each<[string, texts: readonly [string, string, string], Told]>([
  [
    "behind them",
    ["Rules. ", `I am ${secret}. `, "Who?"],
    [
      ["Rules. ", "1h"],
      ["I am [email]. ", "5m"],
      ["Who?", undefined],
    ],
  ],
  [
    "ahead of them",
    [`I am ${secret}. `, "A book. ", "Who?"],
    [
      ["I am [email]. ", "1h"],
      ["A book. ", "5m"],
      ["Who?", undefined],
    ],
  ],
  [
    "right behind one, and right ahead of one",
    ["I am ", `${secret}`, " Who?"],
    [
      ["I am ", "1h"],
      ["[email]", "5m"],
      [" Who?", undefined],
    ],
  ],
  [
    "within which one stands",
    ["I am me@exam", "ple.com. ", "Who?"],
    [
      ["I am [email]. ", "5m"],
      ["Who?", undefined],
    ],
  ],
  // Nobody knows what became of what stands between.
  [
    "on both sides",
    [`${secret}. `, "A book. ", `I am ${secret}?`],
    [["[email]. A book. I am [email]?", undefined]],
  ],
])(
  "marks stay, as far as their place is known, where something is masked %s",
  async (_what, [first, second, third], left) => {
    const parts = [picture(), text(first, "1h"), text(second, "5m"), text(third)];
    expect((await asked(mail(), parts))?.slice(1)).toEqual(left);
  },
);

test("a mark at the end of a text stays whatever becomes of the text, but for nothing", async () => {
  const parts = [picture(), text("A ", "1h"), text("book.", "5m")];
  const other = await asked(
    replacing(() => "Something else"),
    parts,
  );
  expect(other?.slice(1)).toEqual([["Something else", "5m"]]);
  const nothing = await asked(
    replacing(() => ""),
    parts,
  );
  expect(nothing?.slice(1)).toEqual([["", undefined]]);
});
