/** What callers say in headers that backends are told. */
import { expect, it } from "vitest";
import type { Call, Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { passHeadersOf } from "../../src/core/routing/pass-headers.js";
import { outcome } from "../support/calls.js";
import { chatModel } from "../support/models.js";
import { bench, hello } from "../support/routing.js";
import { breaksAfter, says, scripted } from "../support/scripted.js";
import { mirroring } from "./mirroring.js";

const passHeaders = passHeadersOf([
  ["a", ["x-tenant", "x-plan"]],
  ["b", ["x-tenant"]],
  ["shadow", ["x-plan"]],
]);

const said: Readonly<Record<string, string>> = {
  "x-tenant": "acme",
  "x-plan": "gold",
  "x-other": "no",
};
const origin = { header: (name: string) => said[name] };

/** Notes what each backend is told. */
function notes() {
  const told: [string | undefined, [string, string][] | undefined][] = [];
  const note = ({ backend, passed }: Call) => told.push([backend, passed && [...passed].sort()]);
  const noting =
    (handle: Handle<"chat">): Handle<"chat"> =>
    (call) => {
      note(call);
      return handle(call);
    };
  return { told, note, noting };
}

const all: [string, string][] = [
  ["x-plan", "gold"],
  ["x-tenant", "acme"],
];

it("each is told those that are for it, also where another failed, and no others", async () => {
  const { told, noting } = notes();
  const away = breaksAfter(new LintelError("unavailable", "scripted"));
  const backends = ["a", "b", "c"].map((name) =>
    scripted({ chat: noting(name === "c" ? says("c") : away) }, [chatModel("m")], name),
  );
  const targets = backends.map(({ name }, priority) => ({ backend: name, priority }));
  const retry = { budget: 1, firstPauseMs: 0 };
  const { core } = bench(backends, { passHeaders, retry }, [{ name: "m", targets }]);
  expect((await outcome(core, "chat", { ...hello, model: "m" }, origin)).code).toBe("ok");
  expect(told).toEqual([
    ["a", all],
    ["b", [["x-tenant", "acme"]]],
    ["c", undefined],
  ]);
});

it("a mirror is told its own", async () => {
  const { told, noting } = notes();
  const real = scripted({ chat: noting(says("real")) }, [chatModel("m")], "real");
  const it = mirroring(noting(says("shadow")), { real, routing: { passHeaders } });
  await outcome(it.core, "chat", { ...hello, model: "m" }, origin);
  await it.core.idle();
  expect(told).toEqual([
    ["real", undefined],
    ["shadow", [["x-plan", "gold"]]],
  ]);
});

it("who counts tokens is told them, too; who says nothing has nothing told", async () => {
  const { told, note } = notes();
  const countTokens: Handle<"countTokens"> = async function* (call) {
    note(call);
    yield [
      {
        $typeName: "lintel.v1.CountTokensResponse",
        promptTokens: 3,
        model: "",
        warnings: [],
        estimated: false,
      } as never,
    ];
  };
  const b = scripted({ chat: says("b"), countTokens }, [chatModel("m")], "b");
  const { core } = bench([b], { passHeaders });
  for (const header of [origin.header, () => undefined]) {
    const counted = await outcome(core, "countTokens", { ...hello, model: "m" }, { header });
    expect(counted.messages[0]?.promptTokens).toBe(3);
  }
  expect(told).toEqual([
    ["b", [["x-tenant", "acme"]]],
    ["b", undefined],
  ]);
});
