/** Clients of vendors, unmodified, that ask how likely tokens were: they find it where their vendor has it. */
import { createOpenAI } from "@ai-sdk/openai";
import { GoogleGenAI } from "@google/genai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { serve } from "../doors/serve.js";
import { scripted } from "../support/scripted.js";
import { saysTokens } from "../support/tokens.js";

const texts = ["Hi", " there", "!"];
const messages = [{ role: "user" as const, content: "Hello" }];
const model = "chat-1";

const told = () => serve(scripted({ chat: saysTokens(...texts) }));

async function openai() {
  const { url } = await told();
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
}

const of = (tokens: readonly { readonly token?: string }[] | null | undefined) =>
  tokens?.map(({ token }) => token);

test("openai: chat completions, whole, streamed, and put together again", async () => {
  const client = await openai();
  const asked = { model, messages, logprobs: true, top_logprobs: 1 };
  const whole = await client.chat.completions.create(asked);
  expect(of(whole.choices[0]?.logprobs?.content)).toEqual(texts);
  expect(whole.choices[0]?.logprobs).toMatchObject({
    content: [{ logprob: -0.5, bytes: [72, 105], top_logprobs: [] }, {}, {}],
    refusal: null,
  });
  const stream = client.chat.completions.stream(asked);
  const deltas: unknown[] = [];
  stream.on("logprobs.content.delta", ({ content }) => deltas.push(of(content)));
  const { choices } = await stream.finalChatCompletion();
  expect(deltas).toEqual(texts.map((text) => [text]));
  expect(of(choices[0]?.logprobs?.content)).toEqual(texts);
  expect(choices[0]?.message.content).toBe(texts.join(""));
});

test("openai: responses, whole and streamed", async () => {
  const client = await openai();
  const include = ["message.output_text.logprobs" as const];
  const asked = { model, input: "Hello", include, top_logprobs: 1 };
  const tokensOf = (output: readonly OpenAI.Responses.ResponseOutputItem[]) =>
    output
      .flatMap((item) => (item.type === "message" ? item.content : []))
      .flatMap((part) => (part.type === "output_text" ? of(part.logprobs) : []));
  expect(tokensOf((await client.responses.create(asked)).output)).toEqual(texts);
  const stream = client.responses.stream(asked);
  const deltas: unknown[] = [];
  stream.on("response.output_text.delta", ({ logprobs }) => deltas.push(of(logprobs)));
  expect(tokensOf((await stream.finalResponse()).output)).toEqual(texts);
  expect(deltas).toEqual(texts.map((text) => [text]));
});

test("@google/genai, whole and streamed", async () => {
  const { url } = await told();
  const client = new GoogleGenAI({ apiKey: "me", httpOptions: { baseUrl: url } });
  const asked = { model, contents: "Hello", config: { responseLogprobs: true, logprobs: 1 } };
  const { candidates } = await client.models.generateContent(asked);
  expect(of(candidates?.[0]?.logprobsResult?.chosenCandidates)).toEqual(texts);
  expect(candidates?.[0]?.avgLogprobs).toBe(-0.5);
  const seen: unknown[] = [];
  for await (const { candidates } of await client.models.generateContentStream(asked)) {
    seen.push(...(of(candidates?.[0]?.logprobsResult?.chosenCandidates) ?? []));
  }
  expect(seen).toEqual(texts);
});

test("AI SDK: OpenAI's provider, of chat completions and of responses", async () => {
  const { url } = await told();
  const provider = createOpenAI({ apiKey: "me", baseURL: `${url}/v1` });
  for (const one of [provider.chat(model), provider.responses(model)]) {
    const asked = { model: one, prompt: "Hello", providerOptions: { openai: { logprobs: 1 } } };
    const whole = await generateText(asked);
    const tokens = (metadata: typeof whole.providerMetadata) =>
      of([metadata?.openai?.logprobs ?? []].flat(2) as { token: string }[]);
    expect(tokens(whole.providerMetadata)).toEqual(texts);
    const stream = streamText(asked);
    expect(await stream.text).toBe(texts.join(""));
    expect(tokens(await stream.providerMetadata)).toEqual(texts);
  }
});
