/** Answers that are kept, over reloads of a whole gateway. */
import { expect, test } from "vitest";
import { gateway } from "../support/gateway.js";
import { backend, modelServer } from "./model-server.js";

test("what is kept outlives a reload, which says anew for how long it counts, and for whom", async () => {
  const server = await modelServer("a");
  const backends = `backends:\n${backend("a", server.url)}`;
  const it = await gateway(backends);
  const ask = async (token = "me") => {
    const answer = await it.chat("a", "Hello", token);
    expect(await answer.text()).toContain("two");
    return answer.headers.get("cache-status")?.replace(/=35\d\d$/, "=3600");
  };
  expect(await ask()).toBeUndefined();

  it.write(`cache: { ttl: 1h }\n${backends}`);
  await it.reload();
  expect([await ask(), await ask()]).toEqual(["lintel; fwd=miss", "lintel; hit; ttl=3600"]);
  expect(await ask("other")).toBe("lintel; fwd=miss");

  it.write(`cache: { ttl: 2h, scope: all, max_bytes: 1MiB }\n${backends}`);
  await it.reload();
  // The question is another one where all share its answer.
  expect([await ask(), await ask("other")]).toEqual([
    "lintel; fwd=miss",
    expect.stringMatching(/^lintel; hit; ttl=7\d{3}$/),
  ]);
  expect(it.running.config.cache).toMatchObject({ ttl: 7_200_000, max_bytes: 2 ** 26 });

  it.write(`${backends}models: [{ name: a, cache_ttl: 1h }]\n`);
  await it.reload();
  expect(await ask()).toBe("lintel; hit; ttl=3600");
  it.write(`cache: { ttl: 1h }\n${backends}models: [{ name: a, cache_ttl: 0s }]\n`);
  await it.reload();
  expect(await ask()).toBeUndefined();
});
