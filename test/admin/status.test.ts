/** How a gateway stands, told to administrators, and `lintel top` before a gateway elsewhere. */
import { expect, it, onTestFinished, vi } from "vitest";
import { TargetState } from "../../gen/lintel/admin/v1/status_pb.js";
import { runHere } from "../cli/here.js";
import { administered, adminLines, as, secret } from "./gateway.js";

const method = "StatusService/GetStatus";

/** A caller's token, with which a call was answered and one was refused. */
async function called(more?: string) {
  const running = await administered(more);
  const { secret: token } = await running.tokens.createToken({ name: "alice" }, as());
  await (await running.chat("chat", "Hello", token)).text();
  await (await running.chat("nobody", "Hello", token)).text();
  return { ...running, token };
}

it("has models and targets, what was counted, and how they are", async () => {
  const { status } = await called();
  const told = await status.getStatus({}, as());
  expect(told).toMatchObject({
    ...{ processId: process.pid, workers: 1, running: 0, away: [], mirrors: [] },
    models: [
      { model: "", calls: 1n, failed: 1n },
      { model: "chat", calls: 1n, failed: 0n, promptTokens: 3n, completionTokens: 3n },
    ],
    targets: [
      { backend: "server", model: "chat", state: TargetState.IN, attempts: 1n, failures: 0n },
    ],
    lastReload: { successful: true, waitingForRestart: 0 },
  });
  expect(told.version).toMatch(/^\d+\.\d+\.\d+/);
  expect(told.models[1]?.totalMs?.p50).toBeGreaterThan(0);
  expect(Number(told.uptime?.seconds)).toBeGreaterThanOrEqual(0);
});

const budgets = `limits:
  global: { budget: { amount: 30, period: lifetime } }
  caller: { budget: { amount: 12, period: month } }
prices: [{ model: chat, input: 1000000 }]
`;

it("has budgets, the nearest to its end first, as lintel top has", async () => {
  const { status, url } = await called(adminLines(budgets));
  const told = (await status.getStatus({}, as())).budgets;
  const spent = { amount: 12, used: 3, period: "month" };
  expect(told).toMatchObject([
    { scope: "caller", name: "alice", caller: "", ...spent },
    { scope: "global", name: "", amount: 30, used: 3, period: "lifetime" },
  ]);
  expect(Number(told[0]?.resetTime?.seconds)).toBeGreaterThan(Date.now() / 1000);
  expect(told[1]?.resetTime).toBeUndefined();
  const { stdout } = await runHere(["top", "--once", "--server", url, "--admin-token", secret]);
  expect(stdout).toMatch(
    /\nBUDGET .*\ncaller +alice +25% +3 +12 +month +\d[-\d]+T00:00Z\nglobal +10% +3 +30 +lifetime +never\n/,
  );
});

it("is for administrators, and is no line of the log, which who looks would fill", async () => {
  const { post, lines, token } = await called();
  const calls = () => lines.filter(({ message }) => message === "admin call");
  const before = calls().length;
  const { status, json } = await post(method, {});
  expect([status, json.models.length]).toEqual([200, 2]);
  expect(calls().length).toBe(before);
  expect((await post(method, {}, token)).json).toMatchObject({ code: "unauthenticated" });
  expect(calls().at(-1)?.fields).toMatchObject({ method: "getStatus", code: "invalid_token" });
  expect((await post(method, { x: 1 })).status).toBe(400);
});

it("is there for administrators where lintel top may not look", async () => {
  const { status } = await called(adminLines("telemetry: { top: false }\n"));
  expect((await status.getStatus({}, as())).models).toHaveLength(2);
});

it("lintel top --server shows it as it does of a gateway here", async () => {
  vi.stubEnv("LINTEL_ADMIN_TOKEN", secret);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { url, cwd, token } = await called();
  const there = await runHere(["top", "--once", "--server", url]);
  expect(there).toMatchObject({ code: 0, stderr: "" });
  expect(there.stdout).toMatch(/^lintel [\s\S]*\nchat +\d[\s\S]*\nserver +chat +in /);
  const json = async (...where: string[]) =>
    JSON.parse((await runHere(["top", "--json", ...where])).stdout);
  const { uptime: _, ...elsewhere } = await json("--server", url);
  const { uptime: __, models, ...here } = await json("--config", `${cwd}/lintel.yaml`);
  const rates = { requestRate: expect.any(Number), tokenRate: expect.any(Number) };
  expect(elsewhere).toEqual({ ...here, models: models.map((it: object) => ({ ...it, ...rates })) });
  expect(await runHere(["top", "--once", "--server", url, "--admin-token", token])).toMatchObject({
    ...{ code: 1, stdout: "" },
    stderr: expect.stringContaining("no administrator's"),
  });
  const both = await runHere(["top", "--server", url, "--pid", "1"]);
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("--server and --pid") });
});
