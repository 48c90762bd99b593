/** A Lintel behind a Lintel: what callers of the one in front get is what the other one made. */
import { PNG } from "pngjs";
import { expect, it, onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { LintelError } from "../../src/core/errors.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../src/core/image-events.js";
import { type Lintel, startLintel } from "../support/lintel.js";
import { say } from "../support/messages.js";
import { chatModel, imageModel } from "../support/models.js";
import { scripted } from "../support/scripted.js";
import { backendFor, chatRequest } from "./openai-subject.js";
import { picture, pixels } from "./picture.js";
import { restAt } from "./rest-subject.js";

async function started(...backends: Parameters<typeof startLintel>[0]): Promise<Lintel> {
  const lintel = await startLintel(backends);
  for (const backend of backends) onTestFinished(() => backend.close());
  onTestFinished(() => lintel.close());
  return lintel;
}

/** Two of them; the one behind draws by seed, says a word, and fails where it is told to. */
async function both(at: (url: string) => Backend = restAt): Promise<Lintel> {
  const behind = await started(
    scripted(
      {
        async *chat({ request, warnings }) {
          const said = request.messages.at(-1)?.content ?? "";
          if (said === "fail")
            throw new LintelError("rate_limited", "slow down", { retryAfter: 9 });
          warnings.add("a note");
          for (const [content, finishReason] of [
            [said, ""],
            ["", "length"],
          ] as const) {
            if (finishReason) warnings.add("a late note");
            yield [
              {
                ...{ $typeName: "lintel.v1.LLMResponse", id: "", model: "", created: 0 },
                ...{ usageEstimated: false, warnings: [] },
                choices: [
                  {
                    ...{ $typeName: "lintel.v1.LLMChoice", index: 0, finishReason },
                    delta: say("assistant", content),
                  },
                ],
              },
            ];
          }
        },
        async *streamTextToImage({ request, warnings }) {
          const { width = 0, height = 0, seed = 0n } = request;
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2 })];
          warnings.add("a late word");
          const png = picture(width, height, Number(seed));
          const made = inlineImage(png, Number(seed), { revisedPrompt: `${request.prompt}!` });
          yield [imageEvent(0, made), doneEvent([])];
        },
      },
      [chatModel("m"), imageModel("draw")],
    ),
  );
  return started(at(behind.url));
}

const post = (lintel: Lintel, path: string, body: object) =>
  fetch(`${lintel.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer me" },
    body: JSON.stringify(body),
  });

it("streams and answers chats, with usage, warnings and errors", async () => {
  const front = await both();
  const request = { model: "m", messages: [{ role: "user", content: "hello" }] };
  const whole = await (await post(front, "/llm", request)).json();
  expect(whole).toMatchObject({
    choices: [{ message: { content: "hello" }, finish_reason: "length" }],
    usage_estimated: true,
    warnings: ["a note", "a late note"],
  });
  const events = await (await post(front, "/llm", { ...request, stream: true })).text();
  expect(events).toContain('"content":"hello"');
  expect(events).toContain('"warnings":["a note","a late note"]');
  expect(events.trimEnd().endsWith("data: [DONE]")).toBe(true);
  const messages = chatRequest({}).messages.map(({ role }) => ({ role, content: "fail" }));
  const refused = await post(front, "/llm", { model: "m", messages });
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("9");
  expect(await refused.json()).toMatchObject({
    error: { code: "rate_limited", message: "slow down" },
  });
});

it("says by OpenAI's path, too, that usage is an estimate", async () => {
  const front = await both((url) => backendFor(url, { api_key: "me" }));
  const request = { model: "m", messages: [{ role: "user", content: "hello" }] };
  const usage = { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) };
  const said = { usage_estimated: true, usage };
  expect(await (await post(front, "/llm", request)).json()).toMatchObject(said);
  const events = await (await post(front, "/llm", { ...request, stream: true })).text();
  const all = [...events.matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
  expect(all.at(-1)).toMatchObject(said);
  expect(all[0].usage_estimated).toBeUndefined();
});

it("fetches images and stores them anew, pixel by pixel", async () => {
  const front = await both();
  const request = {
    ...{ model_id: "draw", prompt: "a | b", width: 64, height: 72 },
    ...{ seed: 4294967295, num_images_per_prompt: 1 },
  };
  const answer = (await (await post(front, "/text-to-image", request)).json()) as {
    images: { url: string; seed: number; revised_prompt: string }[];
    warnings: string[];
  };
  expect(answer.warnings).toContain("a late word");
  const streamed = await (await post(front, "/text-to-image", { ...request, stream: true })).text();
  expect(streamed).toMatch(/"type":"done".*"a late word"/);
  expect(answer.images.map((image) => image.revised_prompt)).toEqual(["a!", "b!"]);
  for (const [i, { url, seed }] of answer.images.entries()) {
    expect(seed).toBe(i === 0 ? 4294967295 : 0);
    expect(url.startsWith(front.url)).toBe(true);
    const data = Buffer.from(await (await fetch(url)).arrayBuffer());
    expect(PNG.sync.read(data).width).toBe(64);
    expect(pixels(data)).toEqual(pixels(picture(64, 72, seed)));
  }
});
