/** Guards look at images of prompts. */
import { describe, expect, test } from "vitest";
import type { Checker, Guard } from "../../src/core/guards/guard.js";
import { file, guarded, guardOf, user } from "./guarding.js";

describe("a guard that looks at images", () => {
  const url = "data:image/png;base64,AA==";
  const image = { type: "image_url", imageUrl: { url, detail: "" } };
  const parts = [{ type: "text", text: "Who is it?" }, image];
  const messages = [...user("Hello").messages, { role: "user", content: "", parts }];
  const shown = [{ field: "messages[1].parts[1].image_url.url", role: "user", message: 1, url }];
  /** What a guard is asked, which blocks images where it is shown any. */
  const seeing = (more: Partial<Guard>) => {
    const asked: unknown[] = [];
    const checker: Checker = {
      check(texts, _call, images = []) {
        asked.push({ texts: texts.map(({ text }) => text), images });
        const [{ field } = {}] = images;
        return field ? { action: "block", found: ["face"], field } : { action: "pass" };
      },
    };
    return { asked, guard: guardOf("faces", checker, more) };
  };

  test.each(["complete", "chat", "countTokens"] as const)("blocks one in %s", async (method) => {
    const { guard, asked } = seeing({ images: true });
    const { ask, backend } = guarded([guard]);
    const { code, error } = await ask({ messages }, method);
    expect([code, error?.param]).toEqual(["content_blocked", shown[0]?.field]);
    expect(asked).toEqual([{ texts: ["Hello", "Who is it?"], images: shown }]);
    expect(backend.asked).toEqual([]);
  });

  test("is asked about one without a word", async () => {
    const { guard, asked } = seeing({ images: true });
    const { ask } = guarded([guard]);
    const alone = [{ role: "user", content: "", parts: [image] }];
    expect((await ask({ messages: alone })).code).toBe("content_blocked");
    expect(asked).toMatchObject([{ texts: [], images: [{ url }] }]);
  });

  test("is shown one that comes as a file, and none that is text to models", async () => {
    const { guard, asked } = seeing({ images: true });
    const { ask } = guarded([guard]);
    const drawn = file("image/svg+xml", "<svg/>");
    const picture = file("image/png", "A");
    const parts = [drawn, file("audio/wav", "A"), picture];
    const { code, error } = await ask({ messages: [{ role: "user", parts }] });
    const field = "messages[0].parts[2].file.file_data";
    expect([code, error?.param]).toEqual(["content_blocked", field]);
    expect(asked).toMatchObject([{ images: [{ field, url: picture.file.fileData }] }]);
    await ask({ messages: [{ role: "user", parts: [drawn] }] });
    expect(asked.slice(1)).toMatchObject([{ images: [] }]);
  });

  test("is shown what a part is by its type, whatever it has besides", async () => {
    const { guard, asked } = seeing({ images: true });
    const { ask } = guarded([guard]);
    const picture = { ...file("image/png", "A"), imageUrl: image.imageUrl };
    const words = { type: "text", text: "Hello", imageUrl: image.imageUrl };
    await ask({ messages: [{ role: "user", parts: [picture, words] }] });
    const field = "messages[0].parts[0].file.file_data";
    expect(asked).toMatchObject([{ images: [{ field, url: picture.file.fileData }] }]);
    expect(asked).toHaveLength(1);
  });

  test("is shown none where it is not to, or where there are none", async () => {
    const { guard, asked } = seeing({});
    const { ask } = guarded([guard, { ...guard, name: "b", images: true }]);
    expect((await ask(user("Hello"))).code).toBe("ok");
    expect((await ask({ messages })).code).toBe("content_blocked");
    expect(asked).toMatchObject([
      { images: [] },
      { images: [] },
      { images: [] },
      { images: shown },
    ]);
  });
});
