/** How likely the tokens of an answer were, by every door: whole and streamed, and nothing of it where nobody asks. */
import { createClient } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ChatService, type TokenLogprob } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { tokenLogprob } from "../../src/core/logprobs.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { connect, grpc, grpcWeb } from "../contract/transports.js";
import { events as chunksOf, type Json } from "../contract/wire.js";
import { callsTools, piece, says, scripted, thought } from "../support/scripted.js";
import { saysTokens, token, tokensIn, withTokens } from "../support/tokens.js";
import { generateEvents } from "./generate-events.js";
import { responseEvents } from "./response-events.js";
import { json, serve, serveChat } from "./serve.js";

const tokens = [
  token('H"', -0.25, ['H"', -0.25], ["Ho", -2]),
  tokenLogprob("😀", -9999, undefined, []),
];
const messages = [{ role: "user", content: "Hello" }];

/** A thought, a text of two tokens, and its end, each with its tokens. */
const chat: Handle<"chat"> = async function* () {
  yield [withTokens(thought("Hm."), token("Hm."))];
  yield [withTokens(piece('H"'), tokens[0] as TokenLogprob)];
  yield [withTokens(piece("😀"), tokens[1] as TokenLogprob)];
  yield [withTokens(piece("", "stop", [7, 2]), token("<|end|>"))];
};

/** As OpenAI's clients read them. */
const hm = { token: "Hm.", logprob: -0.5, bytes: [72, 109, 46], top_logprobs: [] };
const end = { token: "<|end|>", logprob: -0.5, bytes: [...Buffer.from("<|end|>")] };
const said = [
  {
    ...{ token: 'H"', logprob: -0.25, bytes: [72, 34] },
    top_logprobs: [
      { token: 'H"', logprob: -0.25, bytes: [72, 34] },
      { token: "Ho", logprob: -2, bytes: [72, 111] },
    ],
  },
  { token: "😀", logprob: -9999, bytes: null, top_logprobs: [] },
];
const all = [hm, ...said, { ...end, top_logprobs: [] }];
const asks = { logprobs: true, top_logprobs: 2 };

test.each([
  ["/llm", 0],
  // As OpenAI has it, the first chunk says who speaks: its client counts tokens of that one twice.
  ["/v1/chat/completions", 1],
])("%s", async (path, ahead) => {
  const { post } = await serveChat(chat);
  const ask = (more: object) => post(path, { model: "chat-1", messages, ...more });
  const { choices } = await json(await ask(asks));
  expect(choices[0].logprobs).toEqual({ content: all, refusal: null });
  const streamed = await chunksOf(await ask({ ...asks, stream: true }));
  const chunks = streamed.slice(ahead);
  const opening = { delta: { role: "assistant", content: "" }, finish_reason: null };
  expect(streamed.slice(0, ahead).map(({ choices: [it] }: Json) => it)).toEqual(
    Array(ahead).fill({ index: 0, ...opening }),
  );
  expect(chunks.map(({ choices: [it] }: Json) => it?.logprobs?.content ?? [])).toEqual(
    all.map((one) => [one]),
  );
  const texts = chunks.map(({ choices: [it] }: Json) => it?.delta.content ?? "");
  expect(texts).toEqual(["", 'H"', "😀", ""]);
  expect(chunks.at(-1).choices[0].finish_reason).toBe("stop");
});

test.each([
  ["/llm", {}],
  ["/v1/chat/completions", {}],
  ["/v1/responses", { input: "Hello" }],
  ["/v1beta/models/chat-1:generateContent", { contents: [{ parts: [{ text: "Hello" }] }] }],
])("%s tells nothing that nobody asked for", async (path, more) => {
  const ask = async (handle: Handle<"chat">, streamed: object) => {
    const { post } = await serveChat(handle);
    const at =
      "stream" in streamed ? path.replace("generateContent", "streamGenerateContent") : path;
    const body = { model: "chat-1", messages, ...more, ...streamed };
    const answer = await (await post(at, body)).text();
    return answer.replace(/"(?:created(?:_at)?)":\d+|"(?:id|item_id|responseId)":"[^"]*"/g, "");
  };
  for (const streamed of [{}, { stream: true }]) {
    expect(await ask(saysTokens("Hi", "!"), streamed)).toBe(await ask(says("Hi", "!"), streamed));
  }
});

test("usage in a chunk of its own, and a choice with calls beside its tokens", async () => {
  const { post } = await serveChat(async function* (call) {
    for await (const batch of callsTools([toolCall(0, "a", "f", "{}")])(call)) {
      yield batch.map((message, i) => (i === 0 ? withTokens(message, token("<call>")) : message));
    }
  });
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
  const more = { stream: true, stream_options: { include_usage: true }, tools, logprobs: true };
  const chunks = await chunksOf(
    await post("/v1/chat/completions", { model: "chat-1", messages, ...more }),
  );
  expect(chunks[1]).toMatchObject({
    usage: null,
    choices: [
      {
        delta: { tool_calls: [{ id: "a" }] },
        logprobs: { content: [{ token: "<call>" }] },
        finish_reason: null,
      },
    ],
  });
});

test("/v1/responses has those of what is said, always with bytes", async () => {
  const { post } = await serveChat(chat);
  const include = ["message.output_text.logprobs"];
  const asked = { model: "chat-1", input: "Hello", include, top_logprobs: 2 };
  const [first, second] = said;
  const told = [first, { ...second, bytes: [...Buffer.from("😀")] }];
  const { output } = await json(await post("/v1/responses", asked));
  expect(output.at(-1).content).toEqual([
    { type: "output_text", text: 'H"😀', annotations: [], logprobs: told },
  ]);
  const events = await responseEvents(await post("/v1/responses", { ...asked, stream: true }));
  const of = (type: string) => events.filter((it: Json) => it.type === type);
  expect(of("response.output_text.delta")).toMatchObject([
    { delta: 'H"', logprobs: [told[0]] },
    { delta: "😀", logprobs: [told[1]] },
  ]);
  expect(of("response.output_text.done")).toMatchObject([{ text: 'H"😀', logprobs: told }]);
  expect(of("response.content_part.done")).toMatchObject([{ part: { logprobs: told } }]);
  expect(events.at(-1).response.output.at(-1).content[0].logprobs).toEqual(told);
  expect(events.map((it: Json) => it.sequence_number)).toEqual(
    events.map((_: Json, i: number) => i),
  );
});

test("Gemini's API has chosen candidates, others beside them, and the average", async () => {
  const { post } = await serveChat(chat);
  const thinkingConfig = { includeThoughts: true };
  const generationConfig = { responseLogprobs: true, logprobs: 2, thinkingConfig };
  const body = { contents: [{ parts: [{ text: "Hello" }] }], generationConfig };
  const chosen = (...indices: number[]) =>
    indices.map((i) => ({ token: all[i]?.token, logProbability: all[i]?.logprob }));
  const likeliest = [
    { token: 'H"', logProbability: -0.25 },
    { token: "Ho", logProbability: -2 },
  ];
  const { candidates } = await json(await post("/v1beta/models/chat-1:generateContent", body));
  const avgLogprobs = (-0.5 - 0.25 - 9999 - 0.5) / 4;
  expect(candidates[0]).toMatchObject({
    avgLogprobs,
    logprobsResult: {
      topCandidates: [
        { candidates: [] },
        { candidates: likeliest },
        ...Array(2).fill({ candidates: [] }),
      ],
      chosenCandidates: chosen(0, 1, 2, 3),
    },
  });
  const events = await generateEvents(
    await post("/v1beta/models/chat-1:streamGenerateContent?alt=sse", body),
  );
  expect(events.map((it: Json) => it.candidates[0].logprobsResult)).toEqual([
    { chosenCandidates: chosen(0) },
    { topCandidates: [{ candidates: likeliest }], chosenCandidates: chosen(1) },
    { chosenCandidates: chosen(2) },
    { chosenCandidates: chosen(3) },
  ]);
  expect(events.map((it: Json) => it.candidates[0].content.parts[0])).toEqual([
    { text: "Hm.", thought: true },
    { text: 'H"' },
    { text: "😀" },
    { text: "" },
  ]);
  expect(events.map((it: Json) => it.candidates[0].avgLogprobs)).toEqual([
    ...[undefined, undefined, undefined, avgLogprobs],
  ]);
});

test.each([
  ["gRPC", grpc],
  ["gRPC-Web", grpcWeb],
  ["Connect", connect("binary", "2")],
  ["Connect in JSON", connect("JSON", "1.1")],
])("%s, whole and streamed", async (_, transportOf) => {
  const { url } = await serve(scripted({ chat }));
  const client = createClient(ChatService, transportOf(url));
  const request = { messages, logprobs: true, topLogprobs: 2 };
  const headers = { authorization: "Bearer me" };
  const expected = [token("Hm."), ...tokens, token("<|end|>")];
  const streamed: object[] = [];
  for await (const message of client.chat(request, { headers })) streamed.push(message);
  for (const answer of [streamed, [await client.complete(request, { headers })]]) {
    expect(tokensIn(answer).map(({ token, logprob }) => [token, logprob])).toEqual(
      expected.map(({ token, logprob }) => [token, logprob]),
    );
    const [, first, second] = tokensIn(answer);
    expect(Buffer.from(first?.topLogprobs[1]?.bytes ?? []).toString()).toBe("Ho");
    expect(second?.bytes).toBeUndefined();
  }
});
