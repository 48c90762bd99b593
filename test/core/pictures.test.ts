/** Pictures that models draw in their answers, around the real core: what they count as, who is shown them, and who looks at them. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { drawnImage, imagesChoice } from "../../src/core/drawn.js";
import { LintelError } from "../../src/core/errors.js";
import type { Checker, Guard } from "../../src/core/guards/guard.js";
import { caching, miss, someHit } from "../support/caching.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { backend, bench, hello } from "../support/routing.js";
import { draws, piece, says, scripted, thought } from "../support/scripted.js";
import { guarded, guardOf, mail, user } from "./guarding.js";

const url = "data:image/png;base64,iVBORw0KGgo=";
const image = drawnImage(url);
const methods = ["chat", "complete"] as const;

const saidIn = (messages: readonly object[]) =>
  (messages as LLMResponse[])
    .flatMap(({ choices }) => choices)
    .map(({ delta, message }) => delta ?? message);
const picturesIn = (messages: readonly object[]) =>
  saidIn(messages).flatMap((said) => said?.images.map(({ imageUrl }) => imageUrl?.url) ?? []);

describe.each(methods)("%s", (method) => {
  test("counts them where the model server counts nothing", async () => {
    const chat = async function* () {
      for await (const [message] of draws("", [image, image])({} as never)) {
        yield [{ ...(message as LLMResponse), usage: undefined } as LLMResponse];
      }
    };
    const core = coreOf([scripted({ chat })]);
    const { messages } = await outcome(core, method, user("Draw."));
    expect(messages.at(-1)).toMatchObject({
      usageEstimated: true,
      usage: { completionTokens: 2 * 765 },
    });
  });

  test("is an answer, however little it says, and kept as one", async () => {
    const { ask, backend } = caching(draws("", [image]));
    const first = await ask({}, {}, method);
    const again = await ask({}, {}, method);
    expect([first.status, again.status]).toEqual([miss, someHit]);
    for (const { messages } of [first, again]) expect(picturesIn(messages)).toEqual([url]);
    expect(backend.asked).toHaveLength(1);
  });

  test("is not kept where a picture is larger than answers may be", async () => {
    const large = drawnImage(`data:image/png;base64,${"A".repeat(2000)}`);
    const { ask } = caching(draws("Here.", [large]));
    await ask({}, {}, method);
    expect((await ask({}, {}, method)).status).toBe(miss);
  });

  test("has of a picture what is JSON, and whole characters", async () => {
    const odd = [drawnImage(`${url}\ud83d`, "[1]"), drawnImage(url, "{"), drawnImage(url, "{}")];
    const core = coreOf([scripted({ chat: draws("", odd) })]);
    const { messages } = await outcome(core, method, user("Draw."));
    const pictures = saidIn(messages).flatMap((said) => said?.images ?? []);
    expect(pictures).toEqual([drawnImage(`${url}\ufffd`), image, drawnImage(url, "{}")]);
  });

  test("is refused where they fill the memory", async () => {
    const large = drawnImage(`data:image/png;base64,${"A".repeat(8 * 1024 * 1024)}`);
    const core = coreOf([scripted({ chat: draws("", Array(9).fill(large)) })]);
    const { code } = await outcome(core, "chat", user("Draw."));
    expect(code).toBe("upstream_failed");
  });
});

test("another target that draws is asked where the first does not", async () => {
  const writer = chatModel("m", { supports: [] });
  const all = [
    scripted({ chat: says("Hi") }, [writer], "a"),
    scripted({ chat: draws("", [image]) }, [chatModel("m")], "b"),
  ];
  const targets = [{ backend: "a" }, { backend: "b", priority: 1 }];
  const { core } = bench(all, {}, [{ name: "m", targets }]);
  const asked = { ...hello, modalities: ["image"] };
  const { code, messages } = await outcome(core, "complete", asked);
  expect([code, picturesIn(messages)]).toEqual(["ok", [url]]);
  expect(all.map(({ asked }) => asked.length)).toEqual([0, 1]);
});

test("half of a character of a thought stands ahead of a picture", async () => {
  const chat = async function* () {
    yield [thought("Hm \ud83d")];
    yield* draws("", [image])({} as never);
  };
  const { messages } = await outcome(coreOf([scripted({ chat })]), "chat", user("Draw."));
  const told = saidIn(messages).map((it) => it?.reasoningContent ?? it?.images.length);
  expect(told).toEqual(["Hm ", "\ufffd", 1, 0]);
});

test("one that has no thoughts shown tells a picture at once", async () => {
  const core = coreOf([scripted({ chat: draws("", [image]) })]);
  const { messages } = await outcome(core, "chat", { ...user("Draw."), includeReasoning: false });
  expect(picturesIn(messages)).toEqual([url]);
});

test("a filter that ended an answer with a picture has not blocked it: nobody else is asked", async () => {
  const chat = async function* () {
    yield [{ ...piece(""), choices: [imagesChoice([image])] }];
    yield [piece("", "content_filter", [7, 0])];
  };
  const all = [backend("a", chat), backend("b", says("Hi"))];
  const { core } = bench(all, { retry: { blocked: true } });
  const { messages } = await outcome(core, "complete", { ...hello, ...user("Draw.") });
  expect(picturesIn(messages).concat(saidIn(messages).map((it) => it?.content))).toEqual([url, ""]);
});

describe("a conversation with pictures", () => {
  const extraContent = '{"google":{"thought_signature":"c2ln"}}';
  const drawn = say("assistant", "Here.", { images: [drawnImage(url, extraContent)] });
  const asked = async (messages: readonly object[], supports: string[]) => {
    const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports })]);
    const result = await outcome(coreOf([backend]), "complete", { messages });
    const request = backend.asked[0] as { messages?: unknown } | undefined;
    return { ...result, told: request?.messages };
  };
  const lost = "messages: images in them are not supported by this model, ignored";

  test("reaches who draws as it was", async () => {
    const messages = [say("user", "Draw."), drawn, say("user", "More.")];
    const { told, warnings } = await asked(messages, ["modalities"]);
    expect([told, warnings]).toMatchObject([messages, []]);
  });

  test("is shown to who looks at images with what the user says next", async () => {
    const messages = [say("user", "Draw."), drawn, drawn, say("user", "What is it?")];
    const { told, warnings } = await asked(messages, ["image_url"]);
    const text = { type: "text", text: "What is it?" };
    expect([told, warnings]).toMatchObject([
      [
        say("user", "Draw."),
        ...Array(2).fill(say("assistant", "Here.")),
        say("user", "", { parts: [image, image, text as never] }),
      ],
      [],
    ]);
    expect(JSON.stringify(told)).not.toContain("c2ln");
  });

  test("loses those behind which the user says nothing", async () => {
    const { told, warnings } = await asked([say("user", "Draw."), drawn], ["image_url"]);
    expect([told, warnings]).toMatchObject([
      [say("user", "Draw."), say("assistant", "Here.")],
      [lost],
    ]);
  });

  test("loses them before who sees nothing", async () => {
    const messages = [say("user", "Draw."), drawn, say("user", "More.")];
    const { told, warnings } = await asked(messages, []);
    expect([told, warnings]).toMatchObject([messages.with(1, say("assistant", "Here.")), [lost]]);
  });

  test("is not told of names in their media types, and counts them", async () => {
    const named = drawnImage(url.replace(";", ";name=a.png;"));
    const messages = [say("user", "Draw."), say("assistant", "", { images: [named] })];
    const backend = scripted({ chat: says("Hi") });
    const core = coreOf([backend]);
    await outcome(core, "complete", { messages });
    expect(backend.asked[0]).toMatchObject({ messages: [{}, { images: [image] }] });
    const counted = async (messages: readonly object[]) =>
      (await outcome(core, "countTokens", { messages })).messages[0]?.promptTokens ?? 0;
    const without = messages.with(1, say("assistant", ""));
    expect((await counted(messages)) - (await counted(without))).toBe(765);
  });
});

describe("a guard", () => {
  const answers = { lookAt: ["answers"] } as const satisfies Partial<Guard>;
  /** One that blocks pictures, and what it was shown. */
  const seeing = (more: Partial<Guard>) => {
    const shown: unknown[] = [];
    const checker: Checker = {
      check(texts, _call, images = []) {
        shown.push([...texts.map(({ text }) => text), ...images.map(({ url }) => url)]);
        const [{ field } = {}] = images;
        return field ? { action: "block", found: ["face"], field } : { action: "pass" };
      },
    };
    return { shown, guard: guardOf("faces", checker, more) };
  };

  test("blocks a whole answer with one", async () => {
    const { guard, shown } = seeing({ ...answers, images: true });
    const { ask } = guarded([guard], draws("Here.", [image]));
    const { code, error } = await ask(user("Draw."), "complete");
    expect([code, error?.param]).toEqual(["content_blocked", undefined]);
    expect(error?.message).toBe('the answer was blocked by the guard "faces"');
    expect(shown).toEqual([["Here.", url]]);
  });

  test("ends a stream at one, with what was said ahead of it", async () => {
    const { guard } = seeing({ ...answers, images: true });
    const { ask } = guarded([guard], draws("Here.", [image], "More."));
    const { code, messages } = await ask(user("Draw."), "chat");
    expect(code).toBe("ok");
    const said = saidIn(messages).map((it) => it?.content);
    expect([said, picturesIn(messages)]).toEqual([["Here.", ""], []]);
    expect(messages.at(-1)).toMatchObject({ choices: [{ finishReason: "content_filter" }] });
  });

  test.each(methods)("is shown none where it looks at texts alone: %s", async (method) => {
    const { guard, shown } = seeing(answers);
    const { ask } = guarded([guard, mail("mask", answers)], draws("me@a.de ", [image], "More."));
    const { code, messages } = await ask(user("Draw."), method);
    expect([code, picturesIn(messages)]).toEqual(["ok", [url]]);
    expect(
      saidIn(messages)
        .map((it) => it?.content)
        .join(""),
    ).toBe("[email] More.");
    expect(shown.flat()).not.toContain(url);
  });

  test("looks at those of a conversation, and names where they stand", async () => {
    const { guard } = seeing({ images: true });
    const { ask, backend } = guarded([guard]);
    const messages = [...user("Draw.").messages, say("assistant", "", { images: [image] })];
    const { code, error } = await ask({ messages });
    const field = "messages[1].images[0].image_url.url";
    expect([code, error?.param, backend.asked]).toEqual(["content_blocked", field, []]);
  });

  test.each(methods)("that can look at none names no field of an answer: %s", async (method) => {
    const checker: Checker = {
      check(_texts, _call, [{ field } = { field: "" }] = []) {
        if (field === "") return { action: "pass" };
        throw new LintelError("invalid_value", "no PNG", { param: field });
      },
    };
    const guard = guardOf("faces", checker, { ...answers, images: true });
    const { ask } = guarded([guard], draws("", [image]));
    const { code, error } = await ask(user("Draw."), method);
    expect([code, error?.param]).toEqual(["content_blocked", undefined]);
    expect(error?.message).not.toContain("choices");
  });
});
