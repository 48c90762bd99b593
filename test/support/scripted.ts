/** Backends in this process that do what a test says, and remember what they were asked. */
import { PNG } from "pngjs";
import type {
  ContentPart,
  LLMRequest,
  LLMResponse,
  ToolCall,
} from "../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Backend, Handlers } from "../../src/core/backend.js";
import type { Handle } from "../../src/core/call.js";
import { deltaChoice, detailsOf, stoppedBy, tokenUsage } from "../../src/core/chat-messages.js";
import { asksForSize } from "../../src/core/defaults.js";
import { imagesChoice } from "../../src/core/drawn.js";
import {
  doneEvent,
  imageEvent,
  inlineImage,
  progressEvent,
  type ToldOfImage,
} from "../../src/core/image-events.js";
import { reasoningChoice, reasoningOf } from "../../src/core/reasoning.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { chatModel, imageModel } from "./models.js";

/** A scripted backend. */
export interface Scripted extends Backend {
  /** Requests that reached the handlers, oldest first. */
  readonly asked: (LLMRequest | TextToImageRequest)[];
}

/** Makes a backend of handlers; every request is remembered. */
export function scripted(
  handlers: Handlers,
  models: readonly Model[] = [chatModel("chat-1"), imageModel("image-1")],
  name = "scripted",
  more: Partial<Backend> = {},
): Scripted {
  const asked: Scripted["asked"] = [];
  const remembering = Object.fromEntries(
    Object.entries(handlers).map(([method, handle]) => [
      method,
      (call: Parameters<Handle>[0]) => {
        asked.push(call.request as LLMRequest);
        return (handle as unknown as Handle)(call);
      },
    ]),
  ) as Handlers;
  return {
    name,
    asked,
    models: () => models,
    handlers: remembering,
    health: async () => {},
    close: async () => {},
    ...more,
  };
}

/** A message of a stream, as backends send it. */
export function piece(content: string, finishReason = "", usage?: [number, number]): LLMResponse {
  return {
    $typeName: "lintel.v1.LLMResponse",
    id: "",
    model: "",
    created: 0,
    usageEstimated: false,
    warnings: [],
    choices: [deltaChoice(content, finishReason)],
    ...(usage && { usage: tokenUsage(...usage) }),
  };
}

/** A message of a stream that says what the model thinks. @param details a JSON array as text */
export const thought = (text: string, details = ""): LLMResponse => ({
  ...piece(""),
  choices: [reasoningChoice(reasoningOf(text, details))],
});

/** Thinks, says one word, and tells how many of 7 tokens were in a cache (3) or written to one (2), and of 9 thoughts (8). */
export const thinksCounted = (reasoning: string, word: string): Handle<"chat"> =>
  async function* () {
    yield [thought(reasoning)];
    yield [piece(word)];
    yield [{ ...piece("", "stop"), usage: tokenUsage(7, 9, detailsOf(3, 2, 8)) }];
  };

/** Streams the pieces, one step each, then the end with usage. */
export function says(...pieces: string[]): Handle<"chat"> {
  return async function* () {
    for (const text of pieces) yield [piece(text)];
    yield [piece("", "stop", [7, pieces.length])];
  };
}

/** Says a text, which ended at another that the caller named. */
export const stopsAt = (text: string, stop: string, reason = "stop"): Handle<"chat"> =>
  async function* () {
    yield [piece(text)];
    yield [{ ...piece("", reason, [1, 1]), choices: [stoppedBy(deltaChoice("", reason), stop)] }];
  };

/** Streams thoughts and then an answer, a step for each, then the end with usage, the thoughts' tokens counted. */
export function thinks(thoughts: readonly LLMResponse[], ...pieces: string[]): Handle<"chat"> {
  return async function* () {
    for (const one of thoughts) yield [one];
    for (const text of pieces) yield [piece(text)];
    const details = { cachedTokens: 4, cacheWriteTokens: 2, reasoningTokens: thoughts.length };
    const usage = tokenUsage(7, thoughts.length + pieces.length, details);
    yield [{ ...piece("", "stop"), usage }];
  };
}

/** Says a text, draws pictures, one step each, and says another. */
export const draws = (text: string, pictures: readonly ContentPart[], more = ""): Handle<"chat"> =>
  async function* () {
    if (text !== "") yield [piece(text)];
    for (const one of pictures) yield [{ ...piece(""), choices: [imagesChoice([one])] }];
    if (more !== "") yield [piece(more)];
    yield [piece("", "stop", [7, 9])];
  };

/** Draws as `draws` does; asked again, it says how many of its pictures it was told. */
export const drawsOnce = (...drawing: Parameters<typeof draws>): Handle<"chat"> =>
  async function* (call) {
    const told = call.request.messages.flatMap(({ images }) => images).length;
    yield* (told === 0 ? draws(...drawing) : says(`${told} seen`))(call);
  };

/** Streams pieces of calls of tools, one step each, then the end with usage. */
export function callsTools(...pieces: ToolCall[][]): Handle<"chat"> {
  return async function* () {
    for (const calls of pieces) yield [{ ...piece(""), choices: [deltaChoice("", "", calls)] }];
    yield [piece("", "tool_calls", [7, pieces.length])];
  };
}

/** Calls a tool for two cities at once, piece by piece; then says what it said, a piece for each. */
export function usesTool(name: string): Handle<"chat"> {
  const calls = callsTools(
    [toolCall(0, "a", name, "")],
    [toolCall(0, "", "", '{"city":')],
    [toolCall(0, "", "", '"Rome"}'), toolCall(1, "b", name, '{"city":"Oslo"}')],
  );
  return async function* (call) {
    const results = call.request.messages.filter(({ role }) => role === "tool");
    yield* (results.length === 0 ? calls : says(...results.map(({ content }) => content)))(call);
  };
}

/** Streams the pieces, then fails. */
export function breaksAfter(error: Error, ...pieces: string[]): Handle<"chat"> {
  return async function* () {
    for (const text of pieces) yield [piece(text)];
    throw error;
  };
}

/** Streams the pieces, then waits until the call is aborted; tells when it was. */
export function hangsAfter(...pieces: string[]): {
  handle: Handle<"chat">;
  aborted: Promise<void>;
} {
  let tell: () => void;
  const aborted = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return {
    aborted,
    async *handle({ signal }) {
      for (const text of pieces) yield [piece(text)];
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      tell();
      throw signal.reason;
    },
  };
}

/** A PNG of one colour, which is told by the seed. */
export function png(seed: number, width = 8, height = 8): Buffer {
  const image = new PNG({ width, height });
  for (let i = 0; i < width * height; i++) {
    image.data.writeUInt32BE((((seed & 0xffffff) << 8) | 0xff) >>> 0, i * 4);
  }
  return PNG.sync.write(image);
}

/** Makes images of one colour each, of the size that was asked for, with `steps` progress events for each. */
export function paints(steps = 2, different: ToldOfImage = {}): Handle<"streamTextToImage"> {
  return async function* ({ request, signal }) {
    const images = request.numImagesPerPrompt ?? 1;
    // Small, where nobody asked for a size of their own.
    const { width = 8, height = 8 } = asksForSize(request) ? request : {};
    for (let index = 0; index < images; index++) {
      for (let step = 1; step <= steps; step++) {
        signal.throwIfAborted();
        yield [progressEvent({ index, images, step, steps })];
      }
      const seed = (Number(request.seed ?? 0n) + index) % 2 ** 32;
      const image = png(seed, width, height);
      yield [imageEvent(index, inlineImage(image, seed, different))];
    }
    yield [doneEvent([])];
  };
}
