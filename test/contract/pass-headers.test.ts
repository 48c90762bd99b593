/** Headers and metadata of callers that backends are told, by each way in. */
import { expect, it, onTestFinished } from "vitest";
import { passHeadersOf } from "../../src/core/routing/pass-headers.js";
import { startLintel } from "../support/lintel.js";
import { routing } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";
import { ways } from "./ways.js";

it.each(ways)("$name", async ({ ask }) => {
  const told: ([string, string][] | undefined)[] = [];
  const backend = scripted({
    chat(call) {
      told.push(call.passed && [...call.passed]);
      return says("Hi")(call);
    },
  });
  const passHeaders = passHeadersOf([["scripted", ["x-tenant", "anthropic-beta"]]]);
  const lintel = await startLintel([backend], { settings: { routing: routing({ passHeaders }) } });
  onTestFinished(() => lintel.close());
  const model = "chat-1";
  await ask(lintel.url, { model });
  const headers = { "x-tenant": "acme", "Anthropic-Beta": "a,b", "x-other": "no" };
  expect(await ask(lintel.url, { model, headers })).toMatchObject({ text: "Hi" });
  expect(told).toEqual([
    undefined,
    [
      ["x-tenant", "acme"],
      ["anthropic-beta", "a,b"],
    ],
  ]);
});
