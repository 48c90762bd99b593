/** Guards that look for what has a form: what their expressions may take. */
import { expect, test } from "vitest";
import { patternChecker } from "../../src/guards/pattern.js";

test("what follows a match counts as found once matches took two seconds", () => {
  let now = 0;
  const settings = { name: "p", find: [], patterns: ["\\d"], action: "mask" } as const;
  // Each look at the clock takes a second: one for all texts, and one for each match.
  const checker = patternChecker(settings, () => (now += 1000));
  const texts = ["a 1 b 2 c", "d", "e 3 f 4 g", "h 5 i"].map((text) => ({ field: "x", text }));
  expect(checker.check(texts, {} as never)).toMatchObject({
    texts: ["a [p] b [p] c", "d", "e [p]", "h [p]"],
  });
  // What fits nothing, too, is found nowhere at the end of a text.
  const empty = patternChecker({ ...settings, patterns: ["x*"] }, () => (now += 1000));
  expect(empty.check([{ field: "x", text: "ab" }], {} as never)).toEqual({ action: "pass" });
  // Each call has its own time.
  expect(checker.check([{ field: "x", text: "6 a 7 b" }], {} as never)).toMatchObject({
    texts: ["[p] a [p] b"],
  });
});

test("what overlaps is masked as one, by the name of what begins first, and is longest", () => {
  const settings = { name: "p", find: ["email"], action: "mask" } as const;
  const masked = (patterns: string[], text: string) => {
    const verdict = patternChecker({ ...settings, patterns }).check(
      [{ field: "x", text }],
      {} as never,
    );
    return (verdict as { readonly texts: readonly string[] }).texts[0];
  };
  expect(masked(["ab", "bcd"], "0abcde")).toBe("0[p]e");
  expect(masked(["ab", "cd"], "0abcde")).toBe("0[p][p]e");
  expect(masked(["me"], "me@example.com!")).toBe("[email]!");
  expect(masked(["com!"], "me@example.com!")).toBe("[email]");
});
