/** `contents` of Google's Gemini API, and what becomes of them. */
import { describe, expect, test } from "vitest";
import { toolCall } from "../../src/core/tool-calls.js";
import { filePart, imagePart, say, soundPart, textPart } from "../support/messages.js";
import { ask, asked, messagesOf, model, text, user } from "./google-request.js";

describe("contents", () => {
  test("are texts in parts, behind what the model is told before anything else", async () => {
    const body = {
      ...ask({ parts: [text("a"), text("b")] }, model(text("c")), user(text("d"))),
      systemInstruction: { role: "user", parts: [text("Be brief. "), text("Be kind.")] },
    };
    const expected = [
      say("system", "Be brief. Be kind."),
      say("user", "ab"),
      say("assistant", "c"),
      say("user", "d"),
    ];
    expect(await messagesOf(body)).toEqual(expected);
    const { systemInstruction, ...rest } = body;
    expect(await messagesOf({ ...rest, system_instruction: systemInstruction })).toEqual(expected);
    expect((await messagesOf({ ...rest, systemInstruction: "Be brief." }))[0]).toEqual(
      say("system", "Be brief."),
    );
    expect(await messagesOf({ ...rest, systemInstruction: { parts: [] } })).toEqual(
      expected.slice(1),
    );
    expect(await messagesOf(ask({ parts: text("a") }))).toEqual([say("user", "a")]);
    expect(await messagesOf({ contents: { parts: text("a") } })).toEqual([say("user", "a")]);
    expect(await messagesOf({ contents: { role: "model", parts: [text("a")] } })).toEqual([
      say("assistant", "a"),
    ]);
    expect(await messagesOf(ask({ role: null, parts: [] }, user(text("a"))))).toEqual([
      say("user", ""),
      say("user", "a"),
    ]);
    for (const response of [{}, null]) {
      const older = { role: "function", parts: [{ functionResponse: { name: "f", response } }] };
      expect(await messagesOf(ask(user(text("a")), older))).toEqual([
        say("user", "a"),
        say("tool", "{}"),
      ]);
    }
  });

  test("may have members that are null, as if these were not there", async () => {
    const none = { text: null, executableCode: null };
    const body = ask(user(text("a"), none), model({ ...none, ...text("b") }, none));
    expect(await messagesOf(body)).toEqual([say("user", "a"), say("assistant", "b")]);
  });

  test("of the model that follow each other are what it said, as clients keep pieces of a stream", async () => {
    const body = ask(
      user(text("a")),
      model(text("b")),
      model(text("c")),
      model(text("")),
      user(text("d")),
    );
    expect(await messagesOf(body)).toEqual([
      say("user", "a"),
      say("assistant", "bc"),
      say("user", "d"),
    ]);
  });

  test("show images, files and sounds, in them or by their address", async () => {
    const inline = (mimeType: string, data = "AAAA", displayName?: string) => ({
      inlineData: { mimeType, data, displayName },
    });
    const file = (fileUri: string, mimeType?: string) => ({ fileData: { fileUri, mimeType } });
    const parts = [
      text("These:"),
      inline("image/PNG", "-_8="),
      { inline_data: { mime_type: "image/jpeg;charset=utf-8", data: "AAAA" } },
      inline("application/pdf", "AAAA", "a.pdf"),
      inline("image/svg+xml", Buffer.from("<svg/>").toString("base64")),
      ...["audio/wav", "audio/mpeg", "audio/mp4", "audio/ogg; codecs=opus"].map((it) => inline(it)),
      inline("audio/basic"),
      file("https://example.com/a.png", "image/png"),
      file("https://example.com/a.pdf", "application/pdf"),
      file("https://example.com/a"),
    ];
    expect(await messagesOf(ask(user(...parts)))).toEqual([
      say("user", "", {
        parts: [
          textPart("These:"),
          imagePart("data:image/png;base64,+/8="),
          imagePart("data:image/jpeg;base64,AAAA"),
          filePart("data:application/pdf;base64,AAAA", "a.pdf"),
          textPart("\n\n<file>\n<svg/>\n</file>\n\n"),
          ...["wav", "mp3", "m4a", "ogg"].map((format) => soundPart("AAAA", format)),
          filePart("data:audio/basic;base64,AAAA"),
          imagePart("https://example.com/a.png"),
          filePart("https://example.com/a.pdf"),
          filePart("https://example.com/a"),
        ],
      }),
    ]);
  });

  test("say how closely images are looked at, or the request does of all", async () => {
    const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
    const at = (level: string) => ({ ...image, mediaResolution: { level } });
    const said = async (parts: object[], mediaResolution?: string) => {
      const body = { ...ask(user(...parts)), generationConfig: { mediaResolution } };
      const { request, warnings } = await asked(body);
      const details = request.messages[0]?.parts.map(({ imageUrl }) => imageUrl?.detail);
      return [details, warnings];
    };
    const [low, medium, high, highest] = ["LOW", "MEDIUM", "HIGH", "ULTRA_HIGH"].map(
      (it) => `MEDIA_RESOLUTION_${it}`,
    ) as [string, string, string, string];
    expect(await said([at(low), at(medium), at(high), at(highest), image])).toEqual([
      ["low", "", "high", "high", ""],
      [],
    ]);
    expect(await said([image, at(high)], low)).toEqual([["low", "high"], []]);
    const { mediaResolution, inlineData } = at(low);
    const older = { inline_data: inlineData, media_resolution: mediaResolution };
    expect(await said([older], "MEDIA_RESOLUTION_UNSPECIFIED")).toEqual([["low"], []]);
    const pdf = { inlineData: { mimeType: "application/pdf", data: "AAAA" } };
    expect(await said([pdf, image], low)).toEqual([
      [undefined, "low"],
      ["contents: mediaResolution of what is no image is not supported, ignored"],
    ]);
    expect(await said([pdf], "MEDIA_RESOLUTION_UNSPECIFIED")).toEqual([[undefined], []]);
  });

  test("have calls and what came of them, each in a message of its own, ahead of what is said", async () => {
    const body = ask(
      user(text("Rome?")),
      model(
        text("Let me look."),
        {
          functionCall: { id: "a", name: "weather", args: { city: "Rome" } },
          thoughtSignature: "s",
        },
        { function_call: { name: "now" } },
        { functionCall: { name: "weather", args: { city: "Oslo" } } },
        { functionCall: { name: "now" } },
        { functionCall: { id: "z", name: "last" } },
        { functionCall: { name: "twice" } },
        { functionCall: { id: "y", name: "twice" } },
      ),
      user(
        text("Well?"),
        { functionResponse: { id: "a", name: "weather", response: { output: "sunny" } } },
        { functionResponse: { name: "now", response: { hour: 10 } } },
        { function_response: { name: "weather", response: { name: "weather", content: "rain" } } },
        {
          functionResponse: {
            ...{ name: "now", response: { output: { minute: 5 } } },
            parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }],
          },
        },
        { functionResponse: { name: "last", response: { error: "no" } } },
        { functionResponse: { name: "nobody", response: { return_value: "x" } } },
        { functionResponse: { id: "y", name: "twice", response: { output: "second" } } },
        { functionResponse: { name: "twice", response: { output: "first" } } },
      ),
    );
    const extra = JSON.stringify({ google: { thought_signature: "s" } });
    const called = [
      toolCall(0, "a", "weather", '{"city":"Rome"}', extra),
      toolCall(0, "call_0", "now", "{}"),
      toolCall(0, "call_1", "weather", '{"city":"Oslo"}'),
      toolCall(0, "call_2", "now", "{}"),
      toolCall(0, "z", "last", "{}"),
      toolCall(0, "call_3", "twice", "{}"),
      toolCall(0, "y", "twice", "{}"),
    ];
    expect(await messagesOf(body)).toEqual([
      say("user", "Rome?"),
      say("assistant", "Let me look.", { toolCalls: called }),
      say("tool", "sunny", { toolCallId: "a" }),
      say("tool", '{"hour":10}', { toolCallId: "call_0" }),
      say("tool", "rain", { toolCallId: "call_1" }),
      say("tool", '{"output":{"minute":5}}', { toolCallId: "call_2" }),
      say("tool", '{"error":"no"}', { toolCallId: "z" }),
      say("tool", "x"),
      say("tool", "second", { toolCallId: "y" }),
      say("tool", "first", { toolCallId: "call_3" }),
      say("user", "", { parts: [textPart("Well?"), imagePart("data:image/png;base64,AAAA")] }),
    ]);
  });

  test("have what was thought, and what the model server wants to see again", async () => {
    const body = ask(
      user(text("a")),
      model(
        { text: "", thought: false },
        { text: "Hm", thought: true },
        { text: "m.", thought: true, thoughtSignature: "sig" },
      ),
      model({ text: "42", thought_signature: "end" }, { thoughtSignature: "alone" }),
      user(text("b")),
    );
    const detail = (data: string) => ({
      ...{ type: "reasoning.encrypted", data, format: "google-gemini-v1", index: 0 },
    });
    expect((await messagesOf(body))[1]).toEqual(
      say("assistant", "42", {
        reasoningContent: "Hmm.",
        reasoningDetails: JSON.stringify([detail("sig"), detail("end"), detail("alone")]),
      }),
    );
  });
});
