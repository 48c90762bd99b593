/** What is left of a configuration once another took its place. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { gateway } from "../support/gateway.js";
import { modelServer } from "./model-server.js";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

test("what was closed holds on to nothing of the configurations that came after", async () => {
  const { url } = await modelServer("a");
  const config = (connections: number) =>
    `backends:\n  - { type: openai, name: a, url: "${url}", models: [a], connections: ${connections} }\n`;
  const it = await gateway(config(1));
  const backendNow = () => it.running.backends[0]?.backend;
  // As a call does that still reads an answer of it.
  const first = backendNow();
  const later: WeakRef<object>[] = [];
  for (let i = 2; i < 6; i++) {
    it.write(config(i));
    await it.reload();
    later.push(new WeakRef(backendNow() as object));
  }
  const left = () => {
    collect();
    return later.filter((one) => one.deref()).length;
  };
  // That of the moment.
  await expect.poll(left).toBe(1);
  expect(first?.models()).toHaveLength(1);
  expect(first).not.toBe(backendNow());
});
