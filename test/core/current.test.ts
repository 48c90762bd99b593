import { expect, test } from "vitest";
import { CurrentCore } from "../../src/core/current.js";
import { LintelError } from "../../src/core/errors.js";
import { outcome } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { coreOf } from "../support/core.js";
import { breaksAfter, hangsAfter, says, scripted } from "../support/scripted.js";

const hello = { model: "chat-1", messages: [{ role: "user", content: "Hi" }] };

test("numbers of a target go on over a reload, with calls that began before it", async () => {
  const fails = breaksAfter(new LintelError("upstream_failed", "broken"));
  const core = new CurrentCore(coreOf([scripted({ chat: fails })]));
  const target = () => {
    const [first] = core.routing.snapshot().endpoints;
    return [first?.attempts, first?.failures, first?.inFlight];
  };
  await outcome(core, "chat", hello);
  expect(target()).toEqual([1, 1, 0]);

  const { handle } = hangsAfter("Hel");
  await core.replace(coreOf([scripted({ chat: handle })]));
  expect(target()).toEqual([1, 1, 0]);
  const caller = new AbortController();
  const before = outcome(core, "chat", hello, { signal: caller.signal });
  await settled();
  const replaced = core.replace(coreOf([scripted({ chat: says("Hello") })]));
  await settled();
  expect(target()).toEqual([1, 1, 1]);

  expect((await outcome(core, "chat", hello)).code).toBe("ok");
  caller.abort();
  expect((await before).code).toBe("cancelled");
  await replaced;
  expect(target()).toEqual([3, 1, 0]);
});
