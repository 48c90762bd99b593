/** A core whose texts guards look at, for tests. */
import type { Handle } from "../../src/core/call.js";
import type { CoreParts } from "../../src/core/core.js";
import type { Checker, Guard, GuardedText, Verdict } from "../../src/core/guards/guard.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { type PatternSettings, patternChecker } from "../../src/guards/pattern.js";
import * as calls from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { chatModel, imageModel } from "../support/models.js";
import { paints, says, scripted } from "../support/scripted.js";

/** A guard that looks at prompts of all models, but for what is said. */
export const guardOf = (name: string, checker: Checker, more: Partial<Guard> = {}): Guard => ({
  name,
  lookAt: ["prompts"],
  models: ["*"],
  onFailure: "closed",
  checker,
  ...more,
});

/** One that looks for emails. */
export const mail = (
  action: PatternSettings["action"] = "mask",
  more: Partial<Guard> = {},
): Guard =>
  guardOf("mail", patternChecker({ name: "mail", find: ["email"], patterns: [], action }), more);

/** A core with guards, what its models were asked, and a way to ask. */
export function guarded(
  guards: readonly Guard[],
  chat: Handle<"chat"> = says("Hi"),
  settings: Partial<CoreSettings> = {},
  parts: Partial<CoreParts> = {},
) {
  const chatty = chatModel("chat-1");
  const supports = [...chatty.supports, "cache_control"];
  const models = [{ ...chatty, supports }, imageModel("image-1")];
  const backend = scripted({ chat, streamTextToImage: paints() }, models);
  const core = coreOf([backend], settings, { guards, ...parts });
  const ask = (
    request: object,
    method: Parameters<typeof calls.outcome>[1] = "complete",
    origin = {},
  ) => calls.outcome(core, method, request, origin);
  return { core, backend, ask };
}

/** One message of a user. */
export const user = (content: string) => ({ messages: [{ role: "user", content }] });

/** What guards that look for emails find. */
export const secret = "me@example.com";

/** A part of a message with a file. */
export const file = (type: string, text: string, filename = "") => ({
  type: "file",
  file: {
    filename,
    fileData: `data:${type};base64,${Buffer.from(text).toString("base64")}`,
  },
});

/** A checker that says the same of all texts, and remembers them. */
export function saying(verdict: (texts: readonly GuardedText[]) => Verdict | Promise<Verdict>) {
  const seen: (readonly GuardedText[])[] = [];
  const checker: Checker = {
    check(texts) {
      seen.push(texts);
      return verdict(texts);
    },
  };
  return { checker, seen };
}

/** One that lets all of them pass. */
export const pass = () => saying(() => ({ action: "pass" }));

/** A request with a text wherever one can be. */
export const everywhere = (text: string) => ({
  messages: [
    { role: "system", content: text },
    {
      role: "user",
      parts: [
        { type: "text", text },
        { type: "image_url", imageUrl: { url: "data:image/png;base64,AAAA" } },
        file("text/plain", text, text),
      ],
    },
    {
      role: "assistant",
      content: text,
      reasoningContent: text,
      reasoningDetails: JSON.stringify([
        { type: "reasoning.text", text, signature: text },
        { type: "reasoning.summary", summary: text },
        {
          type: "reasoning.text",
          id: "1a",
          format: "f",
          signature: "s",
          content: text,
          data: text,
        },
        { type: "reasoning.encrypted", data: "e" },
      ]),
      toolCalls: [
        {
          id: "a",
          type: "function",
          function: { name: "look", arguments: `{"${text}": [1, "${text}"]}` },
        },
      ],
    },
    { role: "tool", toolCallId: "a", content: text },
  ],
  stop: [text],
  tools: [
    {
      type: "function",
      function: { name: "look", description: text, parameters: `{"description":"${text}"}` },
    },
  ],
  responseFormat: {
    type: "json_schema",
    jsonSchema: { name: "n", description: text, schema: `{"description":"${text}"}` },
  },
});
