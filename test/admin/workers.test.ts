/** Administration of several processes at one address. */
import { beforeAll, describe, expect, test, vi } from "vitest";
import { build } from "../cli/lintel.js";
import { chat, gateway, linesOf } from "../cli/several.js";
import { redisBinary } from "../support/redis.js";
import { adminLines, secret } from "./gateway.js";

beforeAll(build);

describe.runIf(redisBinary)("workers", () => {
  test("each of them takes administration, and all go by what one of them did", async () => {
    const { lintel, base } = await gateway(`auth: { mode: token }\n${adminLines()}`);
    const admin = async (method: string, body: object, service = "TokensService") => {
      const response = await fetch(`${base}/lintel.admin.v1.${service}/${method}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${secret}`,
          "content-type": "application/json",
          connection: "close",
        },
        body: JSON.stringify(body),
      });
      // biome-ignore lint/suspicious/noExplicitAny: an answer, as a client looks at it
      return (await response.json()) as any;
    };
    const { secret: bearer } = await admin("CreateToken", { name: "a" });
    /** Asked again where Redis is late, as on a busy machine: then the token can't be checked. */
    const asked = async () => {
      const { status } = await chat(base, "tiny", "Hello", bearer);
      expect(status).not.toBe(503);
      return status;
    };
    const statuses = async () => {
      const all: number[] = [];
      for (let i = 0; i < 4; i++) all.push(await vi.waitFor(asked));
      return all;
    };
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    // Each of them tells of all.
    for (let i = 0; i < 2; i++) {
      const { workers, models } = await admin("GetStatus", {}, "StatusService");
      expect([workers, models.map(({ calls }: { calls: string }) => calls)]).toEqual([2, ["4"]]);
    }
    expect((await admin("RevokeToken", { token: "a" })).token.state).toBe("STATE_REVOKED");
    await expect.poll(statuses).toEqual([401, 401, 401, 401]);
    const calls = linesOf(lintel).filter(({ msg }) => msg === "admin call");
    expect(new Set(calls.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
    expect(lintel.stderr).not.toContain(bearer);
  });
});
