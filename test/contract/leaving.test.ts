/**
 * The client goes away, and the work upstream is aborted. How fast
 * is measured by `npm run bench:leaving`; here it has to happen at all.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { moments, openStage, type Stage, ways } from "./leaving.js";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

describe.each(Object.keys(ways))("a caller over %s who leaves", (way) => {
  it.each(moments)("%s is seen by the model server", async (moment) => {
    await stage.leave(way, moment);
    expect(stage.lintel.core.readiness.running).toBe(0);
  });
});
