/** Guards that look at some authors' messages alone. */
import { describe, expect, test } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import type { Guard } from "../../src/core/guards/guard.js";
import { says } from "../support/scripted.js";
import { everywhere, file, guarded, guardOf, mail, pass, secret } from "./guarding.js";

describe("a guard that looks at some authors' messages alone", () => {
  const places = async (roles: Guard["roles"], request: object = everywhere("said")) => {
    const { checker, seen } = pass();
    const { ask } = guarded([guardOf("a", checker, { roles })]);
    expect((await ask(request)).code).toBe("ok");
    const begins = seen.flat().map(({ field }) => /^[^.[]+(\[\d\])?/.exec(field)?.[0]);
    return [...new Set(begins)];
  };

  test("sees those, and what is in no message where it looks at the system's", async () => {
    expect(await places(["user"])).toEqual(["messages[1]"]);
    expect(await places(["assistant", "tool"])).toEqual(["messages[2]", "messages[3]"]);
    const ofSystem = ["messages[0]", "stop[0]", "tools[0]", "response_format"];
    expect(await places(["system"])).toEqual(ofSystem);
    expect(await places(undefined)).toHaveLength(7);
  });

  test("has developers for the system", async () => {
    const messages = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: "Hello" },
    ];
    expect(await places(["system"], { messages })).toEqual(["messages[0]"]);
    expect(await places(["user"], { messages })).toEqual(["messages[1]"]);
  });

  test("is not asked where there is nothing of them", async () => {
    expect(await places(["tool"], { messages: [{ role: "user", content: "Hello" }] })).toEqual([]);
  });

  test("masks theirs, and leaves the others as they came", async () => {
    const { ask, backend } = guarded([mail("mask", { roles: ["user"] })]);
    const messages = [
      { role: "system", content: secret },
      { role: "user", content: secret },
    ];
    await ask({ messages });
    expect(backend.asked).toMatchObject([
      { messages: [{ content: secret }, { content: "[email]" }] },
    ]);
  });

  test("has prompts of images for the user's", async () => {
    const block = (roles: Guard["roles"]) => guarded([mail("block", { roles })]);
    const asked = async (roles: Guard["roles"]) =>
      (await block(roles).ask({ prompt: secret }, "textToImage")).code;
    expect(await asked(["user"])).toBe("content_blocked");
    expect(await asked(["system"])).toBe("ok");
  });

  test("looks at answers all the same", async () => {
    const one = mail("block", { roles: ["user"], lookAt: ["prompts", "answers"] });
    const { ask } = guarded([one], says(secret));
    const messages = [{ role: "user", content: "Hello" }];
    expect((await ask({ messages })).code).toBe("content_blocked");
  });

  test("sees images of theirs alone", async () => {
    const shown: string[] = [];
    const checker: Guard["checker"] = {
      check(_texts, _call, images = []) {
        shown.push(...images.map(({ field }) => field));
        return { action: "pass" };
      },
    };
    const image = {
      type: "image_url",
      imageUrl: { url: "data:image/png;base64,AA==", detail: "" },
    };
    const messages = [
      { role: "system", parts: [{ type: "text", text: "Look." }] },
      { role: "user", parts: [image] },
    ];
    const seeing = (roles: Guard["roles"]) =>
      guarded([guardOf("a", checker, { roles, images: true })]).ask({ messages });
    await seeing(["system"]);
    expect(shown).toEqual([]);
    await seeing(["user"]);
    expect(shown).toEqual(["messages[1].parts[0].image_url.url"]);
  });

  test("minds no PDF of another's that can't be read, and nobody reads it", async () => {
    const read: string[] = [];
    const documents = {
      read: (_pdf: Uint8Array, caller: string) => {
        read.push(caller);
        return Promise.reject(new LintelError("invalid_value", "it is broken"));
      },
    };
    const messages = [
      { role: "user", parts: [file("application/pdf", "%PDF-1.7")] },
      { role: "assistant", content: "What is it?" },
      { role: "user", content: "A PDF." },
    ];
    const asked = (...roles: Guard["roles"][]) =>
      guarded(
        roles.map((some, i) => guardOf(`g${i}`, pass().checker, { roles: some })),
        undefined,
        {},
        { documents },
      ).ask({ messages });
    expect((await asked(["assistant"])).code).toBe("ok");
    expect(read).toHaveLength(0);
    const { code, error } = await asked(["assistant"], ["user"]);
    expect([code, error?.message]).toEqual(["content_blocked", expect.stringContaining('"g1"')]);
    expect(read).toHaveLength(1);
  });
});
