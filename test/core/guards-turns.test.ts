/** Guards that look at the last turn of a conversation alone. */
import { describe, expect, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import type { Guard } from "../../src/core/guards/guard.js";
import { everywhere, file, guarded, guardOf, mail, pass, secret } from "./guarding.js";

const last: Partial<Guard> = { messages: "last_turn" };
const of = (role: string, content = role) => ({ role, content });
const calls = (name = "look") => ({
  role: "assistant",
  toolCalls: [{ id: "a", type: "function", function: { name, arguments: "{}" } }],
});
const result = { role: "tool", toolCallId: "a", content: "found" };

describe("a guard that looks at the last turn alone", () => {
  const places = async (request: object, more: Partial<Guard> = {}) => {
    const { checker, seen } = pass();
    const { ask } = guarded([guardOf("a", checker, { ...last, ...more })]);
    const { code } = await ask(request);
    const begins = seen.flat().map(({ field }) => /^[^.[]+(\[\d\])?/.exec(field)?.[0]);
    return [code, ...new Set(begins)];
  };

  test.each<[string, object[], number[]]>([
    ["what a user says", [of("system"), of("user"), of("assistant"), of("user")], [3]],
    [
      "all that users say one after the other",
      [calls(), result, calls(), result, of("user")],
      [3, 4],
    ],
    ["results of all calls", [of("user"), calls(), result, result], [2, 3]],
    ["what orders say there", [of("user"), of("assistant"), of("developer"), of("user")], [2, 3]],
    ["the begin of an answer", [of("user"), of("assistant"), of("user"), of("assistant")], [2, 3]],
    [
      "the question where orders stand last",
      [of("user"), of("assistant"), of("system")],
      [0, 1, 2],
    ],
    ["all where nobody says anything", [of("system"), of("assistant")], [0, 1]],
  ])("sees %s", async (_what, messages, seen) => {
    expect(await places({ messages })).toEqual(["ok", ...seen.map((i) => `messages[${i}]`)]);
  });

  test("sees what is in no message with the first turn", async () => {
    const { messages, ...others } = everywhere("said");
    const first = messages.slice(0, 2);
    const inNone = ["stop[0]", "tools[0]", "response_format"];
    expect(await places({ messages: first, ...others })).toEqual([
      "ok",
      "messages[0]",
      "messages[1]",
      ...inNone,
    ]);
    expect(await places({ messages, ...others })).toEqual(["ok", "messages[3]"]);
  });

  test("sees of it what its authors say", async () => {
    const messages = [calls(), result, of("user")];
    expect(await places({ messages }, { roles: ["user"] })).toEqual(["ok", "messages[2]"]);
  });

  test("blocks no conversation for what was blocked in it, once an answer stands behind", async () => {
    const { ask } = guarded([mail("block", last)]);
    const conversation = [of("user", secret), of("user", "Hello")];
    expect((await ask({ messages: conversation })).code).toBe("content_blocked");
    const answered = [of("user", secret), of("assistant", "No."), of("user", "Hello")];
    expect((await ask({ messages: answered })).code).toBe("ok");
  });

  test("looks at prompts of images", async () => {
    const { ask } = guarded([mail("block", last)]);
    expect((await ask({ prompt: secret }, "textToImage")).code).toBe("content_blocked");
  });

  test("sees images of it, and reads PDFs of it", async () => {
    const shown: string[] = [];
    const checker: Guard["checker"] = {
      check(_texts, _call, images = []) {
        shown.push(...images.map(({ field }) => field));
        return { action: "pass" };
      },
    };
    let read = 0;
    const documents = {
      read() {
        read++;
        return Promise.reject(new LintelError("invalid_value", "it is broken"));
      },
    };
    const asked = (parts: object[], turn: object[]) =>
      guarded([guardOf("a", checker, { ...last, images: true })], undefined, {}, { documents }).ask(
        {
          messages: [{ role: "user", parts }, of("assistant"), ...turn],
        },
      );
    const image = {
      type: "image_url",
      imageUrl: { url: "data:image/png;base64,AA==", detail: "" },
    };
    const pdf = file("application/pdf", "%PDF-1.7");
    expect((await asked([image, pdf], [of("user")])).code).toBe("ok");
    expect([shown, read]).toEqual([[], 0]);
    expect((await asked([image], [{ role: "user", parts: [image] }])).code).toBe("ok");
    expect(shown).toEqual(["messages[2].parts[0].image_url.url"]);
    expect((await asked([], [{ role: "user", parts: [pdf] }])).code).toBe("content_blocked");
    expect(read).toBe(1);
  });
});
