import { expect, test } from "vitest";
import { type Enrolled, Roster } from "../../src/core/roster.js";

test("members come and go in any order, and each is there once", () => {
  const roster = new Roster<Enrolled & { name: string }>();
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ name, place: -1 }));
  if (!a || !b || !c) throw new Error("three members");
  for (const member of [a, b, c, b]) roster.add(member);
  expect(roster.size).toBe(3);
  roster.delete(a);
  roster.delete(a);
  expect([...roster].map(({ name }) => name).sort()).toEqual(["b", "c"]);
  // Who is asked while others leave: those who were there.
  for (const member of roster) roster.delete(member);
  expect(roster.size).toBe(0);
  roster.add(a);
  expect([...roster]).toEqual([a]);
});
