/** Tokens that callers made for themselves, in every database. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { NewOwnToken, NotMade } from "../../../src/core/callers/own.js";
import type { IssuedSecret } from "../../../src/core/callers/registry.js";
import { hashToken } from "../../../src/core/tokens.js";
import { DatabaseOwnTokens } from "../../../src/state/database/own-tokens.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { onEveryDatabase } from "./databases.js";

const hour = 3_600_000;
const day = 24 * hour;

/** Lets so much time pass, until the test is over. */
function pass(ms: number): void {
  const now = Date.now();
  const spied = vi.spyOn(Date, "now").mockReturnValue(now + ms);
  onTestFinished(() => spied.mockRestore());
}

const wanted = (name: string, more: Partial<NewOwnToken> = {}, caller = "corp:ann") => ({
  owner: { caller, issuer: "https://corp", claims: { sub: "ann", groups: ["a", "b"] } },
  name,
  expiresAt: Date.now() + hour,
  max: 5,
  maxPerDay: 100,
  ...more,
});

function made(answer: IssuedSecret | NotMade): IssuedSecret {
  if (typeof answer === "string" || "nextAt" in answer) {
    throw new Error(`not made: ${JSON.stringify(answer)}`);
  }
  return answer;
}

onEveryDatabase((make) => {
  test("are found by their hash, with who made them, and may use nothing by themselves", async () => {
    const { again } = await make();
    const sql = again();
    const own = new DatabaseOwnTokens(sql);
    const request = wanted("laptop");
    const { secret, token } = made(await own.create(request));
    expect(token.id).toMatch(/^tok_[\w-]{12}$/);
    const found = await new DatabaseTokens(again()).find([hashToken(secret)]);
    expect(found).toEqual([
      expect.objectContaining({
        id: token.id,
        name: "laptop",
        owner: request.owner,
        expiresAt: request.expiresAt,
        // For gateways of versions that know no owners.
        models: [],
        limits: undefined,
      }),
    ]);
  });

  test("two owners, and an administrator, may call theirs the same; one owner may not", async () => {
    const { again } = await make();
    const sql = again();
    const [own, tokens] = [new DatabaseOwnTokens(sql), new DatabaseTokens(sql)];
    const first = made(await own.create(wanted("laptop")));
    expect(await own.create(wanted("laptop"))).toBe("taken");
    const others = made(await own.create(wanted("laptop", {}, "corp:bob")));
    const issued = await tokens.create({ name: "laptop" });
    expect(issued?.token.owner).toBeUndefined();
    expect((await tokens.get("laptop"))?.id).toBe(issued?.token.id);
    expect((await tokens.revoke("laptop"))?.id).toBe(issued?.token.id);
    expect(await tokens.get("laptop")).toBeUndefined();
    expect(await tokens.revoke("laptop")).toBeUndefined();
    expect((await own.list("corp:ann")).map(({ id }) => id)).toEqual([first.token.id]);
    expect((await own.list("corp:bob")).map(({ id }) => id)).toEqual([others.token.id]);
  });

  test("are ended by their owner alone, by name or id, and then their name is free", async () => {
    const { again } = await make();
    const sql = again();
    const [own, tokens] = [new DatabaseOwnTokens(sql), new DatabaseTokens(sql)];
    const { version } = await tokens.changes();
    const first = made(await own.create(wanted("laptop")));
    expect(await own.revoke("corp:bob", "laptop")).toBeUndefined();
    expect(await own.revoke("corp:bob", first.token.id)).toBeUndefined();
    expect((await own.revoke("corp:ann", "laptop"))?.id).toBe(first.token.id);
    expect(await own.revoke("corp:ann", "laptop")).toBeUndefined();
    const second = made(await own.create(wanted("laptop")));
    expect((await own.revoke("corp:ann", second.token.id))?.revokedAt).toBeDefined();
    // Every gateway hears of it.
    const { tokens: heard } = await tokens.changes(version);
    expect(heard.map(({ revokedAt }) => revokedAt !== undefined)).toEqual([true, true]);
  });

  test("administrators list and end them by id, and can't change them", async () => {
    const { again } = await make();
    const sql = again();
    const [own, tokens] = [new DatabaseOwnTokens(sql), new DatabaseTokens(sql)];
    const { id } = made(await own.create(wanted("laptop"))).token;
    await own.create(wanted("desk", {}, "corp:bob"));
    await tokens.create({ name: "issued" });
    expect((await tokens.list({ owner: "corp:ann" })).map((one) => one.id)).toEqual([id]);
    expect(await tokens.list()).toHaveLength(3);
    expect(await tokens.update(id, { models: ["*"] })).toBeUndefined();
    expect(await tokens.rotate(id, { graceMs: 0 })).toBeUndefined();
    expect((await tokens.get(id))?.owner?.caller).toBe("corp:ann");
    expect((await tokens.revoke(id))?.id).toBe(id);
    expect(await own.list("corp:ann")).toEqual([]);
  });

  test("one that expired is not listed, does not count, and gives its name back", async () => {
    const { again } = await make();
    const own = new DatabaseOwnTokens(again());
    const old = made(await own.create(wanted("laptop", { max: 1 })));
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 2 * hour);
    try {
      expect(await own.list("corp:ann")).toEqual([]);
      expect(await own.revoke("corp:ann", "laptop")).toBeUndefined();
      const later = { max: 1, expiresAt: Date.now() + hour };
      const next = made(await own.create(wanted("laptop", later)));
      expect(next.token.id).not.toBe(old.token.id);
      expect(await own.create(wanted("other", later))).toBe("most");
    } finally {
      vi.restoreAllMocks();
    }
  });

  test("many processes at once make as many as one owner may have, and no more", async () => {
    const { again } = await make();
    const processes = [1, 2, 3, 4].map(() => new DatabaseOwnTokens(again()));
    const asked = processes.flatMap((own, i) =>
      [1, 2, 3].map((n) => own.create(wanted(`${i}-${n}`, { max: 3 }))),
    );
    const others = processes.map((own) => own.create(wanted("same", {}, "corp:bob")));
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer === "most")).toHaveLength(9);
    expect(await processes[0]?.list("corp:ann")).toHaveLength(3);
    const same = await Promise.all(others);
    expect(same.filter((answer) => answer === "taken")).toHaveLength(3);
  });

  test("within 24 hours one owner makes no more than may be, whatever becomes of them", async () => {
    const { again } = await make();
    const [own, elsewhere] = [new DatabaseOwnTokens(again()), new DatabaseOwnTokens(again())];
    const few = { maxPerDay: 3, expiresAt: Date.now() + 3 * day };
    const first = made(await own.create(wanted("a", few)));
    await own.revoke("corp:ann", "a");
    pass(hour);
    made(await elsewhere.create(wanted("a", few)));
    await elsewhere.revoke("corp:ann", "a");
    made(await own.create(wanted("b", few)));
    const nextAt = first.token.createdAt + day;
    for (const one of [own, elsewhere]) {
      expect(await one.create(wanted("c", few))).toEqual({ nextAt });
    }
    made(await own.create(wanted("c", few, "corp:bob")));
    // More than there were may be by now.
    made(await own.create(wanted("c", { ...few, maxPerDay: 4 })));
    pass(day - hour);
    const [last] = await own.list("corp:ann");
    expect(await own.create(wanted("d", few))).toEqual({ nextAt: (last?.createdAt ?? 0) + day });
    pass(hour);
    made(await own.create(wanted("d", few)));
  });

  test("many processes at once make as many as may be within 24 hours, and no more", async () => {
    const { again } = await make();
    const processes = [1, 2, 3, 4].map(() => new DatabaseOwnTokens(again()));
    const answers = await Promise.all(
      processes.flatMap((own, i) =>
        [1, 2, 3].map((n) => own.create(wanted(`${i}-${n}`, { max: 100, maxPerDay: 3 }))),
      ),
    );
    expect(answers.filter((one) => typeof one === "object" && "nextAt" in one)).toHaveLength(9);
  });

  test("are deleted 30 days after the time at which they end by themselves, and not before", async () => {
    const { again } = await make();
    const sql = again();
    const [own, tokens] = [new DatabaseOwnTokens(sql), new DatabaseTokens(again())];
    const expiresAt = Date.now() + hour;
    const { version } = await tokens.changes();
    await tokens.create({ name: "issued", expiresAt });
    const ended = made(await own.create(wanted("ended", { expiresAt }))).token.id;
    await own.revoke("corp:ann", "ended");
    const expired = made(await own.create(wanted("expired", { expiresAt }))).token.id;
    const lasting = made(await own.create(wanted("lasting", { expiresAt: expiresAt + day })));
    const ids = async () => (await tokens.list()).map(({ id, owner }) => (owner ? id : "issued"));
    pass(30 * day);
    made(await own.create(wanted("before", { expiresAt: expiresAt + 99 * day }, "corp:bob")));
    // One after the other: what was begun with it is over.
    await own.list("corp:bob");
    expect(await ids()).toEqual(expect.arrayContaining([ended, expired]));
    // A gateway that was away until now hears of the end.
    const heard = (await tokens.changes(version)).tokens.find(({ id }) => id === ended);
    expect(heard?.revokedAt).toBeDefined();
    pass(hour);
    made(await own.create(wanted("after", { expiresAt: expiresAt + 99 * day }, "corp:bob")));
    await vi.waitFor(async () => expect(await ids()).not.toContain(ended));
    expect(await ids()).not.toContain(expired);
    expect(await ids()).toEqual(expect.arrayContaining(["issued", lasting.token.id]));
  });
});
