import { expect, test } from "vitest";
import { reasonOf } from "../../src/core/log.js";

const bare = (fields: object) => Object.assign(Object.create(null), fields);

test("whatever was thrown has words", () => {
  expect(reasonOf(new Error("outer", { cause: bare({}) }))).toBe("outer: [object Object]");
  expect(reasonOf(bare({ message: "no room" }))).toBe("no room");
  expect(reasonOf("a text")).toBe("a text");
  expect(reasonOf(Symbol("s"))).toBe("Symbol(s)");
});
