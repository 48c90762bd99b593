/** Errors of vendors come out of the backend as the contract has them. */
import { describe, expect, it } from "vitest";
import { asked } from "../backends/ai-sdk-calls.js";
import { opened, serve } from "../backends/serve.js";
import { methods } from "./answers.js";
import { backendOf, packages } from "./chat-packages.js";

const words = "The colour is too bright.";

/** What becomes of a status. */
const statuses = [
  [400, { code: "invalid_value", message: `the model server refused the request: ${words}` }],
  [401, { code: "upstream_failed", message: "the model server failed (status 401)" }],
  [429, { code: "rate_limited", retryAfter: 7 }],
  [503, { code: "unavailable", retryAfter: 7 }],
  [529, { code: "unavailable", retryAfter: 7 }],
] as const;

const breaking = packages.filter(({ wire }) => wire.breaks);

describe.each(packages)("$name", (known) => {
  const { wire, model } = known;

  describe.each(methods)("%s", (method) => {
    it.each(statuses)("%i", async (status, expected) => {
      const headers: Record<string, string> = status > 401 ? { "retry-after": "7" } : {};
      const server = await serve((exchange) =>
        exchange.sendJson(status, wire.error(words, status), headers),
      );
      const { error } = await asked(opened(backendOf(known, server.url)), method, { model });
      expect(error).toMatchObject(expected);
      expect(server.requests).toHaveLength(1);
    });
  });
});

it.each(breaking)("$name breaks in the middle of a stream", async (known) => {
  const server = await serve(known.wire.breaks?.(words) ?? (() => {}));
  const backend = opened(backendOf(known, server.url));
  const { code, text, finishReason } = await asked(backend, "chat", { model: known.model });
  expect({ code, text, finishReason }).toEqual({
    ...{ code: known.broken ?? "unavailable", text: "Rain", finishReason: "" },
  });
});
