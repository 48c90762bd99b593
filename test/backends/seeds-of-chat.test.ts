/** Seeds of completions, as backends hand them on. */
import { describe, expect, it, onTestFinished } from "vitest";
import { chatted } from "./ai-sdk-calls.js";
import { compatibleKinds } from "./ai-sdk-subject.js";
import { echo } from "./openai-subject.js";
import { gateway, restAt } from "./rest-subject.js";
import { opened, serve } from "./serve.js";

async function restServer() {
  const server = await gateway();
  onTestFinished(() => server.close());
  return server;
}

const kinds = [
  ...compatibleKinds.map(([kind, at]) => [kind, () => serve(echo), at] as const),
  ["rest", restServer, restAt] as const,
];

describe.each(kinds)("a seed for %s", (_, serverOf, backendAt) => {
  it.each([
    [7n, 7],
    [0n, 0],
    [-1n, undefined],
    [undefined, undefined],
  ])("of %s is sent as %s", async (seed, sent) => {
    const server = await serverOf();
    await chatted(opened(backendAt(server.url)), { seed });
    const [asked] = server.requests.filter(({ method }) => method === "POST");
    expect(JSON.parse(String(asked?.body)).seed).toBe(sent);
  });
});
