/** Usage by the services of administration, through whole gateways. */
import { expect, it, onTestFinished, vi } from "vitest";
import { rowMessage, totalsOf } from "../../src/core/admin/messages.js";
import { administered, adminLines, as } from "./gateway.js";

it("sums come in pages, and of one token alone by its name or its id", async () => {
  const { tokens, usage, chat } = await administered();
  const names = ["a", "b", "c", "d", "e"];
  const made = await Promise.all(names.map((name) => tokens.createToken({ name }, as())));
  for (const { secret } of made) await (await chat("chat", "Hello", secret)).text();
  const told: (string | undefined)[] = [];
  let pageToken = "";
  for (const rows of [2, 2, 1]) {
    const page = await usage.queryUsage({ groupBy: ["token"], pageSize: 2, pageToken }, as());
    expect(page.rows).toHaveLength(rows);
    expect(page.rows.every(({ calls, failed }) => calls === 1n && failed === 0n)).toBe(true);
    told.push(...page.rows.map(({ group }) => group.token));
    pageToken = page.nextPageToken;
  }
  expect([told, pageToken]).toEqual([names, ""]);
  for (const token of ["b", made[1]?.token?.id ?? ""]) {
    const { rows, warnings } = await usage.queryUsage({ groupBy: ["token"], token }, as());
    expect([rows.map(({ group }) => group), warnings]).toEqual([[{ token: "b" }], []]);
  }
});

it("sums are of one team or one end user alone, where that is asked", async () => {
  const { url, tokens, usage } = await administered();
  for (const [name, team, user] of [
    ["a", "red", "u1"],
    ["b", "red", "u2"],
    ["c", "", "u1"],
  ] as const) {
    const { secret } = await tokens.createToken({ name, team }, as());
    const body = { model: "chat", user, messages: [{ role: "user", content: "Hello" }] };
    const answer = await fetch(`${url}/llm`, {
      method: "POST",
      headers: { ...as(secret).headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    await answer.text();
  }
  const told = async (question: object) =>
    (await usage.queryUsage({ groupBy: ["token"], ...question }, as())).rows.map(
      ({ group }) => group.token,
    );
  expect(await told({ team: "red" })).toEqual(["a", "b"]);
  expect(await told({ user: "u1" })).toEqual(["a", "c"]);
  expect(await told({ team: "red", user: "u1" })).toEqual(["a"]);
});

it("days are those of the configuration's time zone, which is told", async () => {
  const { usage, tokens, chat } = await administered(
    `time_zone: Pacific/Kiritimati\n${adminLines()}`,
  );
  const date = () => new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10);
  const { secret } = await tokens.createToken({ name: "a" }, as());
  const before = date();
  await (await chat("chat", "Hello", secret)).text();
  const { rows, timeZone } = await usage.queryUsage({ groupBy: ["day"] }, as());
  expect(timeZone).toBe("Pacific/Kiritimati");
  expect([before, date()]).toContain(rows[0]?.group.day);
  const utc = await (await administered()).usage.queryUsage({}, as());
  expect(utc.timeZone).toBe("UTC");
});

it("a call of long ago is found by its request's id, and is in no sum of the last week", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { tokens, usage, chat } = await administered();
  const { secret } = await tokens.createToken({ name: "a" }, as());
  const answer = await chat("chat", "Hello", secret);
  await answer.text();
  const requestId = answer.headers.get("x-request-id") ?? "";
  vi.setSystemTime(Date.now() + 8 * 86_400_000);
  const calls = async (question: object) =>
    (await usage.queryUsage(question, as())).rows.map(({ calls }) => calls);
  expect(await calls({ requestId })).toEqual([1n]);
  expect(await calls({})).toEqual([0n]);
});

it("sums keep their names on their way to who asks, and back", () => {
  const totals = {
    ...{ group: { token: "a" }, calls: 1, failed: 2, cancelled: 3, cacheHits: 4, images: 5 },
    ...{ promptTokens: 60, completionTokens: 70 },
    ...{ cachedTokens: 8, cacheWriteTokens: 9, reasoningTokens: 10 },
    ...{ spend: 11_000_000_001, meanDurationMs: 12.5, meanFirstMs: 1.25 },
  };
  const row = rowMessage(totals);
  expect(row).toMatchObject({ cachedTokens: 8n, cacheWriteTokens: 9n, reasoningTokens: 10n });
  expect(totalsOf(row)).toEqual(totals);
});

it("says that none is kept, and what is wrong with a question", async () => {
  const { post } = await administered(`usage: { enabled: false }\n${adminLines()}`);
  const ask = (body: object) => post("UsageService/QueryUsage", body);
  expect((await ask({})).json.warnings).toEqual([expect.stringContaining("usage.enabled")]);
  const { status, json } = await ask({
    group_by: ["token", "mode", "token"],
    start_time: "2027-02-01T00:00:00Z",
    end_time: "2027-01-01T00:00:00Z",
    page_token: "zzz",
  });
  expect([status, json.message.split("; ")]).toEqual([
    400,
    [
      "group_by[1]: must be one of token, token_id, team, user, model, backend, door, method, outcome, day, hour, month",
      "group_by[2]: is there twice",
      "end_time: must be after start_time",
      "page_token: must be the next_page_token of an answer",
    ],
  ]);
  const empty = { start_time: "2027-01-01T00:00:00Z", end_time: "2027-01-01T00:00:00Z" };
  expect((await ask(empty)).json.message).toBe("end_time: must be after start_time");
  const old = { end_time: "2001-01-01T00:00:00Z" };
  expect((await ask(old)).json.message).toBe(
    "end_time: must be after start_time, which is seven days ago where it is not given",
  );
});
