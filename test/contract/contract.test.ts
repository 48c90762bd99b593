/** The same rules give the same outcome, whatever the door. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Lintel, startLintel } from "../support/lintel.js";
import { tableBackend, tableSettings } from "./backend.js";
import { chatCases, imageCases } from "./cases.js";
import { drivers } from "./drivers.js";

/** What is not expected in so many words must not be there: an error instead of a text, say. */
function check(outcome: object, expected: { warning?: string; error?: object }): void {
  const { warning, ...rest } = expected;
  expect(outcome).toMatchObject(rest);
  if (warning) expect((outcome as { warning?: string }).warning).toContain(warning);
  if (!expected.error) expect(outcome).not.toHaveProperty("error");
}

describe.each(drivers)("$name", ({ chat, image, streams, uncounted, cuts, namesNoStop }) => {
  // One for each: a model that fails on one door would soon be taken out on all.
  let lintel: Lintel;
  beforeAll(async () => {
    lintel = await startLintel([tableBackend()], { settings: tableSettings });
  });
  afterAll(() => lintel.close());

  if (chat) {
    it.each(chatCases)("chat: $name", async (row) => {
      const expected = (cuts && row.whereCut) || row.expected;
      const { text, thoughts, totalTokens, stopSequence, ...rest } = expected;
      check(await chat(lintel.url, row), {
        ...rest,
        // Whole answers tell an error only.
        ...(text !== undefined && (!rest.error || streams) && { text }),
        ...(thoughts !== undefined && { thoughts }),
        ...(stopSequence !== undefined && { stopSequence: namesNoStop ? "" : stopSequence }),
        ...(totalTokens !== undefined && !uncounted && { totalTokens }),
      });
      if (!expected.error) expect(text).toBeDefined();
    });
  }
  if (image) {
    it.each(imageCases)("image: $name", async (row) => {
      check(await image(lintel.url, row), row.expected);
    });
  }
});
