/** Thoughts between marks, in pieces. */
import { expect, test, vi } from "vitest";
import { MarkedThoughts, thinkTags } from "../../src/backends/marked-thoughts.js";

test.each([
  ["ahead of thoughts", ""],
  ["in thoughts", "<think>a"],
  ["behind thoughts", "<think>a</think>"],
])("rows of blanks %s are not looked through again for each", (_, begin) => {
  const thoughts = new MarkedThoughts(thinkTags, false);
  const said = [thoughts.push(begin)];
  let looked = 0;
  for (const method of ["trimStart", "trimEnd", "trim"] as const) {
    const own = String.prototype[method];
    vi.spyOn(String.prototype, method).mockImplementation(function (this: string) {
      looked += this.length;
      return own.call(this);
    });
  }
  for (let i = 0; i < 4096; i++) said.push(thoughts.push(" "));
  vi.restoreAllMocks();
  expect(looked).toBeLessThan(4 * 4096);
  said.push(thoughts.push(begin === "<think>a" ? "b</think>\nc" : "c"), thoughts.flush());
  const blanks = " ".repeat(4096);
  const whole = {
    text: begin === "<think>a" ? "c" : `${blanks}c`,
    thought: begin === "" ? "" : begin === "<think>a" ? `a${blanks}b` : "a",
  };
  expect(said.map(({ text }) => text).join("")).toBe(whole.text);
  expect(said.map(({ thought }) => thought).join("")).toBe(whole.thought);
});
