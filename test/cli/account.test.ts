/** `lintel account`: what people and programs are told. */
import { expect, onTestFinished, test } from "vitest";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { startLintel } from "../support/lintel.js";
import { says, scripted } from "../support/scripted.js";
import { runHere } from "./here.js";

const noon = Date.UTC(2026, 0, 15, 12);
const secret = createToken();
const settings = {
  models: [{ model: "chat-*", concurrent: 4, budget: { amount: 5, period: "lifetime" } as const }],
  caller: { requestsPerMinute: 600, tokensPerMinute: 200_000 },
  user: { requestsPerMinute: 30 },
  team: { budget: { amount: 12.5, period: "month" } as const, imagesPerDay: 3 },
};

async function served(limits: typeof settings | { readonly models: [] } = settings) {
  const store = memoryLimits({ clock: () => noon });
  const red = { team: "red", models: ["chat-*", "a\u001b[31m"], expiresAt: Date.UTC(2100, 0, 1) };
  const lintel = await startLintel([scripted({ chat: says("Hi") })], {
    settings: {
      auth: { mode: "token", tokens: [{ name: "ann", hash: hashToken(secret), ...red }] },
    },
    parts: { limits: { settings: limits, prices: [], store } },
  });
  onTestFinished(() => lintel.close());
  const ask = (...more: string[]) =>
    runHere(["account", "--server", lintel.url, "--token", secret, ...more]);
  return { ...lintel, store, ask };
}

test("tells people who they are and what is left", async () => {
  const { ask, store } = await served();
  const { code, stdout, stderr } = await ask();
  expect([code, stderr]).toEqual([0, ""]);
  const id = hashToken(secret).slice("sha256:".length, "sha256:".length + 12);
  expect(stdout).toBe(`caller          ann
token           ${id}
team            red
expires         2100-01-01T00:00:00.000Z
models          chat-*, a
team's models   all

LIMIT        OF                LEFT   ALLOWED   IN          RESETS IN
requests     caller             600       600   60 s        0s
tokens       caller         200,000   200,000   60 s        0s
images       team red             3         3   day         12h
spend        team red          12.5      12.5   month       16d 12h
concurrent   model chat-*         4         4   at a time
spend        model chat-*         5         5   lifetime    never
`);
  const { stdout: withUser } = await ask("--user", "u-1");
  expect(withUser).toMatch(/^requests +user u-1 +30 +30 +60 s +0s$/m);
  store.expectMore();
  const { stdout: missing } = await ask();
  expect(missing).toMatch(/^spend +team red +12\.5 +month$/m);
  expect(missing).toMatch(/\n\nwhere nothing stands under LEFT it is not known now\n$/);
});

test("tells programs what GET /account does", async () => {
  const { ask, url } = await served();
  const { code, stdout } = await ask("--json");
  expect(code).toBe(0);
  const answer = await fetch(`${url}/account`, { headers: { authorization: `Bearer ${secret}` } });
  expect(JSON.parse(stdout)).toEqual(await answer.json());
});

test("says where nothing is limited, and what was refused", async () => {
  const { ask, url } = await served({ models: [] });
  expect((await ask()).stdout).toMatch(/\n\nnothing is limited\n$/);
  const refused = await runHere(["account", "--server", url, "--token", "other"]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("the bearer token is not known");
});
