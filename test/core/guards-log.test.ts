/** What the log and spans tell of prompts that guards look at. */
import { describe, expect, test } from "vitest";
import type { CoreParts } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import type { Guard } from "../../src/core/guards/guard.js";
import { silent } from "../../src/core/log.js";
import type { Telemetry } from "../../src/core/telemetry.js";
import { patternChecker } from "../../src/guards/pattern.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { contentAttributes } from "../../src/telemetry/content.js";
import { says } from "../support/scripted.js";
import { guarded, guardOf, mail, saying, secret, user } from "./guarding.js";

describe("a guard, where the log and spans tell what was said", () => {
  /** What both have of the prompt of one call. */
  async function told(
    guards: readonly Guard[],
    request: object,
    method?: "textToImage",
    parts: Partial<CoreParts> = {},
    origin = {},
  ) {
    const lines: Record<string, unknown>[] = [];
    const inSpans: unknown[] = [];
    const line = (fields: object) => void lines.push({ ...fields });
    const log = {
      ...silent,
      info: line,
      warn: (fields: object) => "prompt" in fields && line(fields),
    };
    const telemetry: Telemetry = {
      begin: () => ({
        wantsContent: true,
        attempt: () => undefined,
        end(call, _, said) {
          const content = said && contentAttributes(call, said);
          const input = content?.["gen_ai.input.messages"];
          inSpans.push(input === undefined ? undefined : JSON.parse(String(input)));
        },
      }),
    };
    const callLog = { sample: 1, content: true };
    const { ask } = guarded(guards, says("Hi"), { callLog }, { log, telemetry, ...parts });
    const { code } = await ask(request, method ?? "complete", origin);
    expect(JSON.stringify([lines, inSpans])).not.toContain(secret);
    return { code, prompts: lines.map(({ prompt }) => prompt), inSpans };
  }

  test("what was masked is masked there", async () => {
    expect(await told([mail()], user(`I am ${secret}`))).toMatchObject({
      prompts: [[{ role: "user", content: "I am [email]" }]],
      inSpans: [[{ role: "user", parts: [{ content: "I am [email]" }] }]],
    });
    expect(await told([mail()], { prompt: secret }, "textToImage")).toMatchObject({
      prompts: ["[email]"],
      inSpans: [[{ parts: [{ content: "[email]" }] }]],
    });
  });

  test("nothing is there that a part has besides what it is, at which no guard looks", async () => {
    const imageUrl = { url: "data:image/png;base64,AA==" };
    const besides = { fileData: "data:text/plain;base64,QQ==", filename: secret };
    const parts = [
      { type: "text", text: "Hello", file: besides, imageUrl: { url: secret } },
      { type: "image_url", imageUrl, text: secret, file: besides },
    ];
    const request = { messages: [{ role: "user", parts }] };
    expect(await told([mail()], request)).toMatchObject({
      code: "ok",
      prompts: [[{ content: "Hello" }]],
      inSpans: [[{ parts: [{ type: "text", content: "Hello" }, { mime_type: "image/png" }] }]],
    });
  });

  test("what passes is there as it is, also where guards look at other calls", async () => {
    const others: Partial<Guard>[] = [{}, { models: ["other"] }, { lookAt: ["answers"] }];
    for (const more of others) {
      expect(await told([mail("block", more)], user("Hello"))).toMatchObject({
        prompts: [[{ role: "user", content: "Hello" }]],
        inSpans: [[{ role: "user", parts: [{ content: "Hello" }] }]],
      });
    }
  });

  test("nothing is of a prompt that was blocked, or that nobody could look at", async () => {
    const failing = saying(() => {
      throw new LintelError("unavailable", "away");
    });
    const nothing = { prompts: [undefined], inSpans: [undefined] };
    const blocked = { code: "content_blocked", ...nothing };
    expect(await told([mail("block")], user(secret))).toEqual(blocked);
    // The first has masked another one.
    const words = patternChecker({ name: "p", find: [], patterns: ["bad"], action: "block" });
    const both = [mail(), guardOf("p", words)];
    expect(await told(both, user(`${secret} bad`))).toEqual(blocked);
    expect(await told([mail("block")], { prompt: secret }, "textToImage")).toEqual(blocked);
    const failed = await told([guardOf("a", failing.checker)], user(secret));
    expect(failed).toMatchObject({ code: "unavailable", inSpans: [undefined] });
  });

  test("nothing is of a call that ended ahead of guards", async () => {
    const limits = {
      settings: { caller: { requestsPerMinute: 0 }, models: [], global: {} },
      prices: [],
      store: memoryLimits(),
    };
    const refused = await told([mail()], user(secret), undefined, { limits });
    expect(refused).toMatchObject({ code: "rate_limited", inSpans: [undefined] });
  });
});
