/** The backend `node` before a whole gateway, which serves what a scripted backend does. */
import type { Call } from "../../src/core/call.js";
import { messageChoice, tokenCount } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { doneEvent, imageEvent, inlineImage, progressEvent } from "../../src/core/image-events.js";
import { routingDefaults } from "../../src/core/routing/settings.js";
import { gate, never } from "../support/calls.js";
import { startLintel } from "../support/lintel.js";
import { chatModel, imageModel } from "../support/models.js";
import { piece, png, says, scripted } from "../support/scripted.js";
import { backendContract } from "./contract.js";
import { connectTo } from "./node-peer.js";
import { requestsOf } from "./openai-subject.js";
import type { Held, Subject } from "./subject.js";

const answering = ["chat", "complete", "streamTextToImage", "textToImage"] as const;

/** What a node says, by what goes wrong there. */
const failures = {
  "a value that it refuses": new LintelError("invalid_value", "no such thing", { param: "seed" }),
  "a model that can't be loaded": new LintelError("model_not_loaded", "the file is gone"),
  "a failure behind it": new LintelError("upstream_failed", "the model server failed"),
  "a node that leaves": new LintelError("unavailable", "this node is going away"),
} as const;

/** The words that an answer repeats, at most so many. */
function wordsOf({ request }: Call<"chat"> | Call<"complete">): string[] {
  const words = `you said ${request.messages.at(-1)?.content}`.split(" ");
  return words.slice(0, request.maxTokens);
}

/** Images with progress, and a preview where one is asked for. */
async function* painting({ request }: Call<"streamTextToImage">) {
  const { width, height, numImagesPerPrompt: images = 1, numInferenceSteps: steps = 1 } = request;
  for (let index = 0; index < images; index++) {
    const preview = request.includePreviews ? { preview: png(index) } : {};
    yield [progressEvent({ index, images, step: 1, steps, ...preview })];
    const seed = (Number(request.seed ?? 0n) + index) % 2 ** 32;
    yield [imageEvent(index, inlineImage(png(seed, width, height), seed))];
  }
  yield [doneEvent([])];
}

async function subject(): Promise<Subject> {
  /** What the next call of the model server does instead. */
  let next: ((call: Call) => AsyncGenerator<never[]>) | undefined;
  const unless = <C extends Call, T>(usual: (call: C) => AsyncIterable<T>) =>
    async function* (call: C): AsyncGenerator<T> {
      const instead = next;
      next = undefined;
      yield* instead ? (instead(call) as AsyncGenerator<T>) : usual(call);
    };
  const models = scripted(
    {
      chat: unless((call: Call<"chat">) => says(...wordsOf(call).map((word) => `${word} `))(call)),
      complete: unless(async function* (call: Call<"complete">) {
        const words = wordsOf(call);
        const message = piece("", "stop", [7, words.length]);
        yield [{ ...message, choices: [messageChoice(words.join(" "), "stop")] }];
      }),
      countTokens: unless(async function* ({ request }: Call<"countTokens">) {
        yield [tokenCount(request.messages[0]?.content.length ?? 0)];
      }),
      streamTextToImage: unless(painting),
    },
    [chatModel("m"), imageModel("draw")],
  );
  const lintel = await startLintel([models], {
    settings: { routing: { ...routingDefaults, retry: { ...routingDefaults.retry, attempts: 1 } } },
  });
  const backend = connectTo(lintel.url, { token: "me" });
  await backend.ready?.("m", never);
  return {
    backend,
    request: requestsOf({ modelId: "draw", width: 64, height: 72, seed: 5n }),
    hold(method, at): Held {
      const [reached, left, stopped] = [gate(), gate(), gate()];
      next = async function* ({ signal }) {
        const first =
          method === "chat"
            ? piece("a")
            : progressEvent({ index: 0, images: 1, step: 1, steps: 50 });
        if (at === "middle") yield [first] as never[];
        reached.open();
        signal.addEventListener("abort", left.open, { once: true });
        await left.opened;
        stopped.open();
        throw signal.reason;
      };
      return { reached: reached.opened, stopped: stopped.opened };
    },
    provoke(failure) {
      // biome-ignore lint/correctness/useYield: it fails before anything
      next = async function* () {
        throw failures[failure as keyof typeof failures];
      };
    },
    picture: ({ width = 0, height = 0 }, seed) => png(seed, width, height),
    close: () => lintel.close(),
  };
}

backendContract("node", {
  methods: [...answering, "countTokens"],
  failures: Object.fromEntries(
    Object.entries(failures).map(([name, { code }]) => [name, { method: answering, code }]),
  ),
  setup: subject,
});
