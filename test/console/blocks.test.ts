/** Markdown that comes in by and by is the same in the end as at once. */
import type { Tokens } from "marked";
import { describe, expect, it } from "vitest";
import { blocksOf, Growing } from "../../src/console/markdown/blocks.js";

const text = `# A title

Some *words*, **others** and \`code\`; $a_1 * b_1 * c$ costs $5.
A line of its own.

- one
  - within
    1. deep

       \`\`\`js
       let a = 1;

       let b = 2;
       \`\`\`
- two

  more of it
- [x] done

1. first
2. second

10) tenth

| a | b |
|---|:-:|
| 1 | \`x\\|y\` |
| 2 | z |

> quoted
lazily
> - a list

\`\`\`\`md
\`\`\`
not the end
\`\`\`\`
Under
===
Over
---

---
<div>
*x*
</div>

    indented

    code

$$
a_1 \\\\
b
$$

The end ~~is~~ https://example.com/a_b.

`;

/** What the blocks say, without what stands between them. */
const said = (tokens: readonly unknown[]) =>
  JSON.parse(
    JSON.stringify(tokens, (key, value) =>
      key === "raw"
        ? undefined
        : Array.isArray(value)
          ? value.filter((one) => one?.type !== "space")
          : value,
    ),
  );

/** What is shown after each piece, the last of which is all. */
function grown(pieces: readonly string[]) {
  const growing = new Growing();
  let now = "";
  return pieces.map((piece) => {
    now += piece;
    return growing.blocks(now);
  });
}

describe("Markdown that comes in", () => {
  it("is the same in the end, wherever its pieces end", () => {
    const whole = said(blocksOf(text));
    for (const size of [1, 2, 3, 5, 7, 11, 40]) {
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
      expect(said(grown(pieces).at(-1) ?? []), `pieces of ${size}`).toEqual(whole);
    }
    const lines = text.replaceAll("\n", "\r\n");
    expect(said(grown([...lines]).at(-1) ?? [])).toEqual(whole);
  });

  it("is taken apart once", () => {
    const shown = grown([...text]).map((blocks) => blocks.filter(({ type }) => type !== "space"));
    const last = shown.at(-1) ?? [];
    // All but those that what still comes may belong to.
    const kept = shown.every((now) => now.slice(0, -2).every((block, at) => block === last[at]));
    expect(kept).toBe(true);
  });

  it("shows no marks of what begins, and no table's head as a text", () => {
    const table = "So:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
    const kinds = grown([...table]).map((blocks) => blocks.map(({ type }) => type).join());
    expect([...new Set(kinds)].sort()).toEqual([
      ...["paragraph", "paragraph,space", "paragraph,space,table"],
    ]);
    const code = "```js\nlet a;\n```\nThen";
    const fenced = grown([...code]).map((blocks) =>
      blocks.map((one) => ("text" in one ? one.text : one.type)).join(),
    );
    expect(fenced.filter((one) => one.includes("`"))).toEqual([]);
    expect(said(grown([..."Title\n---"]).at(-1) ?? [])).toMatchObject([{ type: "paragraph" }]);
    const link = grown([..."See [this](https://example.com/"]).flat();
    expect(JSON.stringify(link)).not.toContain("(http");
  });

  it("begins anew with another text", () => {
    const growing = new Growing();
    growing.blocks("One\n\nTwo\n\nThree\n");
    expect(said(growing.blocks("Four\n\n"))).toEqual(said(blocksOf("Four\n\n")));
  });

  it("is a text where it stands within itself too often, or would take too long", () => {
    const deep = ">".repeat(20_000);
    expect(blocksOf(deep)).toMatchObject([{ type: "paragraph", tokens: [{ text: deep }] }]);
    const long = "~a ~~b.".repeat(10_000);
    const [paragraph] = blocksOf(long) as Tokens.Paragraph[];
    expect(paragraph?.tokens.map((one) => one.raw === long)).toEqual([true]);
  });
});
