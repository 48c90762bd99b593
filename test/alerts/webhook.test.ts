/** A webhook is told of budgets. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { bodyOf } from "../../src/alerts/body.js";
import { AlertWebhook } from "../../src/alerts/webhook.js";
import type { BudgetAlert, Telling } from "../../src/core/limits/alerts.js";
import { type Logger, silent } from "../../src/core/log.js";
import { receiver } from "../support/alerts.js";
import { FakeClock, settled } from "../support/clock.js";
import { isSignedWith, secrets } from "../support/webhook-secrets.js";

/** What becomes of an alert. */
const telling = (more: Partial<BudgetAlert> = {}, of: Partial<Telling> = {}): Telling => ({
  ...{ alert: { ...alert, ...more }, begin: () => true, told() {}, lost() {} },
  ...of,
});

const alert: BudgetAlert = {
  ...{ scope: "caller", name: "ann", period: "month", threshold: 0.8, refused: false },
  ...{ amount: 50, used: 40.25, endsAt: Date.UTC(2026, 1, 1) },
};

describe("a webhook", () => {
  const open = (
    url: string,
    more: {
      pauses?: number[];
      timeout?: number;
      clock?: FakeClock;
      signing_secrets?: string[];
    } = {},
  ) => {
    const warned: [object, string | undefined][] = [];
    const log = {
      ...silent,
      warn: (fields: object, text?: string) => warned.push([fields, text]),
    } as Logger;
    const { pauses = [1, 1], timeout = 10_000, clock, signing_secrets } = more;
    const headers = { Authorization: "Bearer s" };
    const webhook = new AlertWebhook(
      { url, headers, timeout, signing_secrets },
      log,
      undefined,
      pauses,
      clock,
    );
    onTestFinished(() => webhook.close());
    return { webhook, warned };
  };
  const lost = (reason: unknown) => [
    { scope: "caller", name: "ann", threshold: 0.8, reason },
    "an alert of a budget can't be sent",
  ];

  it("gets a POST of JSON for each alert", async () => {
    const { url, seen } = await receiver(200);
    const { webhook } = open(url);
    for (const name of ["ann", "bob", "cat"]) webhook.send(telling({ name }));
    await expect.poll(() => webhook.counts).toEqual({ sent: 3, lost: 0 });
    seen.sort((a, b) => a.body.name.localeCompare(b.body.name));
    expect(seen.map(({ body }) => body.name)).toEqual(["ann", "bob", "cat"]);
    expect(seen[0]?.path).toBe("/services/T0/secret?a=b");
    expect(seen[0]?.headers).toMatchObject({
      authorization: "Bearer s",
      "content-type": "application/json",
    });
    expect(seen[0]?.body).toEqual({
      text: 'Budget of the caller "ann": 80% is used (40.25 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
      event: "budget",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      ...{ scope: "caller", name: "ann", period: "month", threshold: 0.8, refused: false },
      ...{ amount: 50, used: 40.25, ratio: 0.805, resets_at: "2026-02-01T00:00:00.000Z" },
    });
  });

  it.each<[Partial<BudgetAlert>, string]>([
    [
      { scope: "global", name: "", threshold: 1, used: 50.5 },
      "Budget of the whole gateway: it is used up (50.5 of 50 per month; it begins anew at 2026-02-01T00:00Z).",
    ],
    [
      { scope: "team", period: "lifetime", refused: true, used: 1 / 3, endsAt: undefined },
      'Budget of the team "ann": calls are refused (0.333333 of 50 in all; it does not begin anew).',
    ],
    [
      { scope: "caller_model", name: "gpt-*", caller: "a<b" },
      'Budget of the caller "a&lt;b" for models "gpt-*": 80% is used (40.25 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
    [
      { scope: "team_model", name: "gpt-*", team: "re@d" },
      'Budget of the team "re@d" for models "gpt-*": 80% is used (40.25 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
    [
      { scope: "caller_model", name: "gpt-5", caller: "ann", used: 50 },
      'Budget of the caller "ann" for the model "gpt-5": it is used up (50 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
    [
      { used: 50 },
      'Budget of the caller "ann": it is used up (50 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
    [
      { used: 14.5 },
      'Budget of the caller "ann": 29% is used (14.5 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
    [
      { name: '<!channel> & "\n' },
      'Budget of the caller "&lt;!channel&gt; &amp; \\"\\n": 80% is used (40.25 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
    [
      { name: "@channel, @all, idp:@here, ann@example.com" },
      'Budget of the caller "@\u200bchannel, @\u200ball, idp:@\u200bhere, ann@example.com": 80% is used (40.25 of 50 per month; it begins anew at 2026-02-01T00:00Z).',
    ],
  ])("is told of %j in words", (different, words) => {
    expect(bodyOf({ ...alert, ...different }, 0).text).toBe(words);
  });

  it.each([-700, 700])("is told of a full hour where a store's clock is %i ms off", (offMs) => {
    const { text, resets_at } = bodyOf({ ...alert, endsAt: Date.UTC(2026, 1, 1) + offMs }, 0);
    expect(text).toContain("it begins anew at 2026-02-01T00:00Z");
    expect(resets_at).toBe("2026-02-01T00:00:00.000Z");
  });

  it("that fails is asked again, and not for ever", async () => {
    const { url, seen } = await receiver(408, 429, 200, 500);
    const { webhook, warned } = open(url);
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 1, lost: 0 });
    expect(seen).toHaveLength(3);
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 1, lost: 1 });
    expect(seen).toHaveLength(6);
    expect(warned).toEqual([lost("it answers with status 500")]);
  });

  it("knows by the signature who tells, and by the name what is told again", async () => {
    const { url, seen } = await receiver(500, 200, 200);
    const [newest, old, other] = secrets;
    const { webhook } = open(url, { signing_secrets: [newest, old] });
    webhook.send(telling());
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 2, lost: 0 });
    for (const one of seen) {
      const by = [newest, old, other].map((secret) => isSignedWith(secret, one));
      expect(await Promise.all(by)).toEqual([true, true, false]);
    }
    const [first, again, next] = seen.map(({ headers }) => headers["webhook-id"]);
    expect([again === first, next === first]).toEqual([true, false]);
  });

  it.each<[string, number, string, number]>([
    ["seconds", 429, "7", 7000],
    ["seconds, if it fails", 500, "7", 7000],
    ["less than the usual pause", 503, "1", 5000],
    ["very long", 503, "86400", 180_000],
    ["a date", 503, "Fri, 01 Jan 2100 00:00:00 GMT", 180_000],
    ["a date that has passed", 503, "Wed, 01 Jan 2020 00:00:00 GMT", 5000],
    ["nonsense", 429, "soon", 5000],
  ])("that asks for time (%s) gets it, within bounds", async (_, status, retryAfter, ms) => {
    const { url, seen } = await receiver([status, retryAfter], 200);
    const clock = new FakeClock();
    const { webhook } = open(url, { pauses: [5000], clock });
    webhook.send(telling());
    await expect.poll(() => clock.timers).toBe(1);
    await clock.advance(ms - 1);
    expect([clock.timers, seen.length]).toEqual([1, 1]);
    await clock.advance(1);
    await expect.poll(() => webhook.counts).toEqual({ sent: 1, lost: 0 });
    expect([clock.timers, seen.length]).toEqual([0, 2]);
  });

  it("that does not know it is asked once, and its address is in no log", async () => {
    const { url, seen } = await receiver(404);
    const { webhook, warned } = open(url);
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 1 });
    expect(seen).toHaveLength(1);
    expect(warned).toEqual([lost("it answers with status 404")]);
    expect(JSON.stringify(warned)).not.toContain("secret");
  });

  it("that is not there loses what was for it", async () => {
    const { url, leave } = await receiver(200);
    await leave();
    const { webhook, warned } = open(url);
    const ends: string[] = [];
    webhook.send(telling({}, { told: () => ends.push("told"), lost: () => ends.push("lost") }));
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 1 });
    expect(ends).toEqual(["lost"]);
    const reason = /^the webhook of budget_alerts can't be reached: .*ECONNREFUSED/;
    expect(warned).toEqual([lost(expect.stringMatching(reason))]);
  });

  it("that hangs is asked four things at once, holds up so many and no more, and no end", async () => {
    const { url, seen } = await receiver(0);
    const { webhook, warned } = open(url);
    const begun: string[] = [];
    const begin = (name: string) => () => begun.push(name) > 0;
    for (const name of ["ann", "ann", "bob", "cat", "dan", "eve"]) {
      webhook.send(telling({ name }, { begin: begin(name) }));
    }
    for (let i = 0; i < 997; i++) webhook.send(telling());
    await expect.poll(() => seen.length).toBe(4);
    expect(begun).toEqual(["ann", "bob", "cat", "dan"]);
    expect(webhook.counts).toEqual({ sent: 0, lost: 3 });
    expect(warned).toEqual(Array.from({ length: 3 }, () => lost("too many wait")));
    await webhook.close();
    expect(webhook.counts).toEqual({ sent: 0, lost: 1003 });
    expect(seen).toHaveLength(4);
  });

  it("is asked four things at once, however many it has answered", async () => {
    const { url, seen } = await receiver(200, 200, 200, 200, 0);
    const { webhook } = open(url);
    const begun: string[] = [];
    const send = (name: string) =>
      webhook.send(telling({ name }, { begin: () => begun.push(name) > 0 }));
    for (let i = 0; i < 12; i++) send(`early ${i}`);
    await expect.poll(() => seen.length).toBe(8);
    for (let i = 0; i < 4; i++) send(`late ${i}`);
    await settled();
    expect([begun.length, webhook.counts.sent]).toEqual([8, 4]);
  });

  it("is told of one budget in turn, also when what came first is told already", async () => {
    const { url, seen } = await receiver(200, 0);
    const { webhook } = open(url);
    const begun: number[] = [];
    const send = (threshold: number) =>
      webhook.send(telling({ threshold }, { begin: () => begun.push(threshold) > 0 }));
    for (const threshold of [0.5, 0.8]) send(threshold);
    await expect.poll(() => seen.length).toBe(2);
    send(1);
    await settled();
    expect(begun).toEqual([0.5, 0.8]);
  });

  it("has room for others once many are told", async () => {
    const { url } = await receiver(200);
    const { webhook } = open(url);
    let begun = 0;
    const theirs = { begin: () => ++begun === 0 };
    for (let i = 0; i < 1000; i++) webhook.send(telling({}, theirs));
    await expect.poll(() => begun).toBe(1000);
    await settled();
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 1, lost: 0 });
  });

  it("that fails for one holds up those of its budget alone", async () => {
    const { url, seen } = await receiver(503, 200);
    const { webhook, warned } = open(url, { pauses: [600_000] });
    const of = (name: string, threshold: number) => telling({ name, threshold });
    webhook.send(of("ann", 0.5));
    await expect.poll(() => seen.length).toBe(1);
    webhook.send(of("ann", 0.8));
    for (const threshold of [0.5, 0.8, 1]) webhook.send(of("bob", threshold));
    webhook.send(of("cat", 0.5));
    await expect.poll(() => webhook.counts).toEqual({ sent: 4, lost: 0 });
    const told = (name: string) =>
      seen.flatMap(({ body }) => (body.name === name ? [body.threshold] : []));
    expect([told("ann"), told("bob"), told("cat")]).toEqual([[0.5], [0.5, 0.8, 1], [0.5]]);
    await webhook.close();
    expect(warned.map(([fields]) => fields)).toEqual([
      { scope: "caller", name: "ann", threshold: 0.5, reason: "the gateway ends" },
      { scope: "caller", name: "ann", threshold: 0.8, reason: "the gateway ends" },
    ]);
  });

  it("is not told what another gateway tells, also where that is so only by the next attempt", async () => {
    const { url, seen } = await receiver(503);
    const { webhook } = open(url);
    const asked: number[] = [];
    const ends: string[] = [];
    const theirs = (first: boolean): Partial<Telling> => ({
      begin: async (forMs) => asked.push(forMs) === 1 && first,
      told: () => ends.push("told"),
      lost: () => ends.push("lost"),
    });
    webhook.send(telling({}, theirs(true)));
    await expect.poll(() => asked.length).toBe(2);
    webhook.send(telling({ name: "bob" }, theirs(false)));
    await expect.poll(() => asked.length).toBe(3);
    await webhook.close();
    expect([seen.length, ends, webhook.counts]).toEqual([1, [], { sent: 0, lost: 0 }]);
    // All attempts and pauses, and time to spare.
    expect(asked).toEqual(Array.from({ length: 3 }, () => 3 * 10_000 + 2 * 180_000 + 30_000));
  });

  it("hands over what waits, and what comes later, of each budget in its order", async () => {
    const [hangs, refuses, takes] = [await receiver(0), await receiver(503), await receiver(200)];
    const names = ["ann", "bob", "cat", "dan", "eve"];
    for (const { url, seen } of [hangs, refuses]) {
      const { webhook: before } = open(url, { pauses: [600_000] });
      const { webhook: between } = open(url);
      const { webhook: next } = open(takes.url);
      const ends: string[] = [];
      const toldOf = (name: string) => takes.seen.filter(({ body }) => body.name === name);
      const of = (name: string, threshold: number) =>
        telling(
          { name, threshold },
          { told: () => ends.push("told"), lost: () => ends.push("lost") },
        );
      for (const name of names) for (const at of [0.5, 0.8]) before.send(of(name, at));
      // Those that pause leave their place to others.
      const sent = seen === hangs.seen ? 4 : 5;
      await expect.poll(() => seen.length).toBe(sent);
      before.handOver(between);
      between.handOver(next);
      // Not once another one has its answer: that may never come.
      await expect.poll(() => toldOf("eve")).toHaveLength(2);
      await before.close();
      before.send(of("ann", 1));
      await expect.poll(() => next.counts).toEqual({ sent: 11, lost: 0 });
      const arrived = takes.seen.splice(0).map(({ body }) => body);
      for (const name of names) {
        const its = arrived.filter((body) => body.name === name).map((body) => body.threshold);
        expect(its).toEqual(name === "ann" ? [0.5, 0.8, 1] : [0.5, 0.8]);
      }
      expect([seen.length, before.counts]).toEqual([sent, { sent: 0, lost: 0 }]);
      expect(ends).toEqual(Array.from({ length: 11 }, () => "told"));
    }
  });

  it("that is no longer told of anything loses at once what waits for it, and says why", async () => {
    const { url, seen } = await receiver(503);
    const { webhook, warned } = open(url, { pauses: [600_000] });
    webhook.send(telling());
    await expect.poll(() => seen.length).toBe(1);
    webhook.send(telling());
    webhook.handOver(undefined);
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 2 });
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 3 });
    expect(seen).toHaveLength(1);
    expect(warned).toEqual(
      Array.from({ length: 3 }, () => lost("budget_alerts is no longer configured")),
    );
  });

  it("whose answers come to no end holds up nothing", async () => {
    const server = createServer((_, response) => void response.writeHead(200).write("ok"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { webhook } = open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    for (const name of ["ann", "bob", "cat", "dan", "eve"]) webhook.send(telling({ name }));
    await expect.poll(() => webhook.counts).toEqual({ sent: 5, lost: 0 });
  });

  it("that takes too long is given up", async () => {
    const { url, seen } = await receiver(0);
    const { webhook, warned } = open(url, { timeout: 20, pauses: [1] });
    webhook.send(telling());
    await expect.poll(() => webhook.counts).toEqual({ sent: 0, lost: 1 });
    expect(seen.length).toBeLessThanOrEqual(2);
    expect(warned).toEqual([lost(expect.stringMatching(/^the webhook of budget_alerts .* ms/))]);
  });
});
