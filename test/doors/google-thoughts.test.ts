/** What a model thought ahead of calls, in Google's Gemini API: its clients keep the signatures of calls, and seldom thoughts. */
import { describe, expect, test } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { deltaChoice } from "../../src/core/chat-messages.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { piece, says, scripted, thought } from "../support/scripted.js";
import { type GenerateEvent, generateEvents, partsOf, textOf } from "./generate-events.js";
import { ask, model, text, user } from "./google-request.js";
import { json, serve } from "./serve.js";

const at = (method: string) => `/v1beta/models/chat-1:${method}`;
const thoughtful = {
  ...ask(user(text("Hello"))),
  generationConfig: { thinkingConfig: { includeThoughts: true } },
};

const details = [{ type: "reasoning.text", text: "Hm.", signature: "s", format: "f", index: 0 }];
const gemini = JSON.stringify({ google: { thought_signature: "sig" } });

/** Thinks, says that it looks, and calls `weather` twice. @param again what the model server wants to see again of thoughts */
const looks = (again: readonly object[], extraContent = ""): Handle<"chat"> =>
  async function* () {
    const call = (...calls: ReturnType<typeof toolCall>[]): LLMResponse => ({
      ...piece(""),
      choices: [deltaChoice("", "", calls)],
    });
    yield [thought("H"), thought("m."), piece("I look")];
    if (again.length > 0) yield [thought("", JSON.stringify(again))];
    yield [call(toolCall(0, "a", "weather", '{"city":"Rome"}', extraContent))];
    yield [call(toolCall(1, "b", "weather", '{"city":"Oslo"}')), piece("", "tool_calls", [7, 9])];
  };

/** The parts of its answer, whole and in a stream. */
async function answers(chat: Handle<"chat">): Promise<GenerateEvent[][]> {
  const server = await serve(scripted({ chat }));
  const whole = await json(await server.post(at("generateContent"), thoughtful));
  const stream = await server.post(at("streamGenerateContent?alt=sse"), thoughtful);
  return [partsOf(whole), partsOf(...(await generateEvents(stream)))];
}

/** What a model is told of the turn once its parts came back. */
async function told(parts: readonly GenerateEvent[]) {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const functionResponse = { name: "weather", response: { output: "sunny" } };
  const body = ask(
    user(text("Hello")),
    model(...parts),
    user({ functionResponse }, { functionResponse }),
  );
  await server.post(at("generateContent"), body);
  const [asked] = backend.asked;
  if (!(asked && "messages" in asked)) throw new Error("it was not asked");
  const { reasoningContent, reasoningDetails, toolCalls } = asked.messages[1] ?? {};
  return [reasoningContent, reasoningDetails, toolCalls?.map(({ extraContent }) => extraContent)];
}

const keptBy: [string, (parts: readonly GenerateEvent[]) => GenerateEvent[]][] = [
  ["keeps all parts", (parts) => [...parts]],
  ["drops thoughts, as the Gemini CLI", (parts) => parts.filter((part) => !part.thought)],
  ["drops empty thoughts, as Strands", (parts) => parts.filter((part) => part.text !== "")],
  [
    "puts a signature at each call, as ADK",
    (parts) => {
      const signature = parts.find((part) => part.thoughtSignature).thoughtSignature;
      const sign = (part: GenerateEvent) =>
        part.functionCall ? { ...part, thoughtSignature: signature } : part;
      return parts.filter((part) => part.text !== "").map(sign);
    },
  ],
];

describe("thoughts ahead of calls", () => {
  test("stand in the signature of the first call", async () => {
    for (const parts of await answers(looks(details))) {
      expect([textOf(parts, true), textOf(parts)]).toEqual(["Hm.", "I look"]);
      const signed = parts.filter((part) => part.thoughtSignature);
      expect(signed).toMatchObject([{ functionCall: { id: "a" } }]);
    }
  });

  test.each(keptBy)("reach the model again from a client that %s", async (_, kept) => {
    for (const parts of await answers(looks(details))) {
      expect(await told(kept(parts))).toEqual(["Hm.", JSON.stringify(details), ["", ""]]);
    }
  });

  test.each(keptBy)(
    "that nothing is to be seen again of do so as well, from one that %s",
    async (_, kept) => {
      for (const parts of await answers(looks([]))) {
        expect(await told(kept(parts))).toEqual(["Hm.", undefined, ["", ""]]);
      }
    },
  );

  test("leave a call its own signature, and have theirs", async () => {
    for (const parts of await answers(looks(details, gemini))) {
      expect(parts.filter((part) => part.thoughtSignature)).toMatchObject([
        { thought: true },
        { functionCall: { id: "a" }, thoughtSignature: "sig" },
      ]);
      expect(await told(parts)).toEqual(["Hm.", JSON.stringify(details), [gemini, ""]]);
    }
  });

  test("are not in it where nobody asks for them", async () => {
    const server = await serve(scripted({ chat: looks(details) }));
    const asked = ask(user(text("Hello")));
    const answer = await json(await server.post(at("generateContent"), asked));
    expect(partsOf(answer).filter((part) => part.thoughtSignature)).toEqual([]);
  });
});
