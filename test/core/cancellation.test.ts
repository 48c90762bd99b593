import { expect, test } from "vitest";
import { type CallSignal, Cancellation, nativeSignal } from "../../src/core/cancellation.js";

test("listeners hear once, in their order, those that left do not", () => {
  const cancellation = new Cancellation();
  const heard: string[] = [];
  const left = () => heard.push("left");
  cancellation.addEventListener("abort", () => heard.push("first"));
  cancellation.addEventListener("abort", left);
  cancellation.addEventListener("abort", () => heard.push(`second: ${cancellation.reason}`));
  cancellation.removeEventListener("abort", left);
  cancellation.abort("why");
  cancellation.abort("again");
  cancellation.addEventListener("abort", () => heard.push("late"));
  expect(heard).toEqual(["first", "second: why"]);
  expect(() => cancellation.throwIfAborted()).toThrow("why");
});

test("a listener may be an object, of Node's own signals, too", () => {
  const controller = new AbortController();
  const own = new Cancellation();
  const signals: CallSignal[] = [own, controller.signal];
  const heard: string[] = [];
  for (const signal of signals) {
    const left = { handleEvent: () => heard.push("left") };
    signal.addEventListener("abort", { handleEvent: () => heard.push("first") }, { once: true });
    signal.addEventListener("abort", left);
    signal.removeEventListener("abort", left);
  }
  own.abort("why");
  controller.abort("why");
  expect(heard).toEqual(["first", "first"]);
});

test("as Node's own signal it aborts along, whenever it was asked for", () => {
  const before = new Cancellation();
  const early = nativeSignal(before);
  expect(early.aborted).toBe(false);
  before.abort("why");
  expect([early.aborted, early.reason]).toEqual([true, "why"]);
  const late = nativeSignal(before);
  expect(late).toBe(early);

  const after = new Cancellation();
  after.abort("over");
  expect(nativeSignal(after).reason).toBe("over");

  const own = AbortSignal.abort("own");
  expect(nativeSignal(own)).toBe(own);
});
