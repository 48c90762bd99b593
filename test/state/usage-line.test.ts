/** Records of usage as lines: each value stands where its column does. */
import { expect, it } from "vitest";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { columns, lineOf } from "../../src/state/database/usage-line.js";

it("has all values in the order of the columns", () => {
  const members = columns.map(([, member]) => member);
  // Each its own name.
  const named: unknown = Object.fromEntries(members.map((member) => [member, member]));
  expect(JSON.parse(lineOf(named as UsageRecord))).toEqual(members);
});
