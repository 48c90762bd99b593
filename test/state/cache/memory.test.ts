import { expect, it } from "vitest";
import { silent } from "../../../src/core/log.js";
import { memoryCache } from "../../../src/state/cache/memory.js";
import { openCache } from "../../../src/state/cache/open.js";
import { cacheContract, nameOf } from "./contract.js";

cacheContract("in this process", async () => memoryCache(1_000_000));

it("makes room of what nobody asked for the longest, and keeps none that is larger than all room", () => {
  const store = memoryCache(5000);
  const kept = () => ["a", "b", "c", "d"].filter((name) => store.get(nameOf(name)) !== undefined);
  for (const name of ["a", "b", "c"]) store.put(nameOf(name), new Uint8Array(1200), 60_000);
  expect(kept()).toEqual(["a", "b", "c"]);
  store.get(nameOf("a"));
  store.put(nameOf("d"), new Uint8Array(1200), 60_000);
  expect(kept()).toEqual(["a", "c", "d"]);
  store.put(nameOf("b"), new Uint8Array(5000), 60_000);
  expect(kept()).toEqual(["a", "c", "d"]);
});

it.each([
  [0, "none", undefined],
  [1000, "what fits", Uint8Array.of(1)],
])("has the room that its settings say (%i bytes): it keeps %s", async (maxBytes, _, kept) => {
  const store = await openCache({ maxBytes, maxAnswerBytes: 1_000_000 }, silent);
  store.put(nameOf("a"), Uint8Array.of(1), 60_000);
  store.put(nameOf("b"), new Uint8Array(1000), 60_000);
  expect([await store.get(nameOf("a")), await store.get(nameOf("b"))]).toEqual([kept, undefined]);
});
