/** A gateway tells of budgets. */
import { expect, it, onTestFinished } from "vitest";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { receiver, spend } from "../support/alerts.js";
import { gateway } from "../support/gateway.js";

it("a gateway tells, goes on to tell after a reload, and counts it", async () => {
  const upstream = await Upstream.start(echo);
  onTestFinished(() => upstream.close());
  const [first, second] = [await receiver(200, 503), await receiver(200)];
  const token = createToken();
  const text = (url: string) => `
telemetry: { prometheus: true }
auth: { mode: token, tokens: [{ name: ann, hash: "${hashToken(token)}" }] }
prices: [{ model: m, output: 1000000 }]
limits: { caller: { budget: { amount: 200, period: lifetime } } }
budget_alerts: { url: "${url}", at: [0.2, 0.1, 0.01], headers: { X-From: lintel } }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`;
  const running = await gateway(text(first.url));
  const chat = () => spend(running.url, token, { content: "a b c", maxTokens: 5 });
  await chat();
  await expect.poll(() => first.seen.length).toBe(1);
  expect(first.seen[0]?.headers["x-from"]).toBe("lintel");
  expect(first.seen[0]?.body).toMatchObject({ scope: "caller", name: "ann", threshold: 0.01 });
  for (let i = 0; first.seen.length < 2 && i < 20; i++) await chat();
  await expect.poll(() => first.seen.length).toBe(2);
  // What waits for the address before is told to the one of now; a reload that fails changes nothing.
  running.write(`${text(second.url)}\nnonsense: true`);
  await running.reload();
  expect(second.seen).toEqual([]);
  running.write(text(second.url));
  await running.reload();
  await expect.poll(() => second.seen.length).toBe(1);
  expect(second.seen[0]?.body).toMatchObject({ threshold: 0.1, period: "lifetime" });
  // One that changes something else leaves alone who is told.
  running.write(`${text(second.url)}image_hosts: [a.example]\n`);
  await running.reload();
  for (let i = 0; second.seen.length < 2 && i < 40; i++) await chat();
  await expect.poll(() => second.seen.length).toBe(2);
  expect(second.seen[1]?.body).toMatchObject({ threshold: 0.2 });
  expect(first.seen).toHaveLength(2);
  const metrics = async () => (await fetch(`${running.url}/metrics`)).text();
  await expect
    .poll(metrics)
    .toMatch(/lintel_budget_alerts_total\{lintel_alert_result="sent"[^}]*\} 3/);
});

it("a gateway whose configuration tells nobody any more says so of what waited", async () => {
  const upstream = await Upstream.start(echo);
  onTestFinished(() => upstream.close());
  const { url, seen } = await receiver(503);
  const token = createToken();
  const text = `
auth: { mode: token, tokens: [{ name: ann, hash: "${hashToken(token)}" }] }
prices: [{ model: m, output: 1000000 }]
limits: { caller: { budget: { amount: 200, period: lifetime } } }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`;
  const running = await gateway(`${text}\nbudget_alerts: { url: "${url}", at: [0.01] }`);
  await spend(running.url, token, { content: "a b c", maxTokens: 5 });
  await expect.poll(() => seen.length).toBe(1);
  running.write(text);
  await running.reload();
  const { fields } = await running.said("an alert of a budget can't be sent");
  expect(fields).toMatchObject({
    threshold: 0.01,
    reason: "budget_alerts is no longer configured",
  });
});

it("a gateway that ends just after a reload still tells what was on its way to the address before", async () => {
  const upstream = await Upstream.start(echo);
  onTestFinished(() => upstream.close());
  const [hangs, takes] = [await receiver(0), await receiver(200)];
  const token = createToken();
  const text = (url: string) => `
auth: { mode: token, tokens: [{ name: ann, hash: "${hashToken(token)}" }] }
prices: [{ model: m, output: 1000000 }]
limits: { caller: { budget: { amount: 200, period: lifetime } } }
budget_alerts: { url: "${url}", at: [0.01] }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`;
  const running = await gateway(text(hangs.url));
  await spend(running.url, token, { content: "a b c", maxTokens: 5 });
  await expect.poll(() => hangs.seen.length).toBe(1);
  running.write(text(takes.url));
  await running.reload();
  await running.running.close(0);
  expect(takes.seen).toHaveLength(1);
});
