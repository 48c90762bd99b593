/** Limits of a Lintel behind a Lintel: what one request is too large for keeps nobody else out. */
import { afterEach, describe, expect, it } from "vitest";
import { createNodeBackend } from "../../src/backends/node/index.js";
import { nodeSchema } from "../../src/backends/node/schema.js";
import type { Backend } from "../../src/core/backend.js";
import type { Handle } from "../../src/core/call.js";
import type { Core } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import type { CallerLimits } from "../../src/core/limits/settings.js";
import { silent } from "../../src/core/log.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { startLintel } from "../support/lintel.js";
import { chatModel, imageModel } from "../support/models.js";
import { paints, says, scripted } from "../support/scripted.js";
import { backendFor } from "./openai-subject.js";
import { restAt } from "./rest-subject.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const noon = Date.UTC(2026, 0, 15, 12);

const fronts = {
  rest: (url: string) => restAt(url),
  openai: (url: string) =>
    backendFor(url, { models: ["m", "draw"], image_models: ["draw"], api_key: "a" }),
  node: (address: string) => {
    const entry = nodeSchema.parse({ type: "node", name: "test", address, token: "a" });
    return createNodeBackend(entry, { log: silent });
  },
} satisfies Record<string, (url: string) => Backend>;

/**
 * A core in front of a Lintel that gives every caller the same limits.
 * @param busy what its model server says of a chat as long as it is an error
 */
async function inFrontOf(
  caller: CallerLimits,
  front: (url: string) => Backend,
  busy: () => LintelError | undefined = () => undefined,
): Promise<Core> {
  const chat: Handle<"chat"> = async function* (call) {
    const error = busy();
    if (error) throw error;
    yield* says("hi")(call);
  };
  const model = scripted({ chat, streamTextToImage: paints() }, [
    chatModel("m"),
    imageModel("draw"),
  ]);
  const store = memoryLimits({ clock: () => noon });
  const limits = { settings: { models: [], caller }, prices: [], store };
  const behind = await startLintel([model], { parts: { limits } });
  const backend = front(behind.url);
  cleanups.push(
    () => behind.close(),
    () => backend.close(),
  );
  await backend.ready?.("m", new AbortController().signal);
  return coreOf([backend]);
}

const hello = { model: "m", messages: [{ role: "user", content: "hello" }] };
const image = { modelId: "draw", prompt: "a lintel", width: 64, height: 64 };

describe.each(Object.entries(fronts))("behind %s", (_, front) => {
  it("a request that never fits is refused alone, and says which field", async () => {
    const core = await inFrontOf({ tokensPerMinute: 1000 }, front);
    const { error } = await outcome(core, "chat", { ...hello, maxTokens: 20_000 });
    expect(error).toMatchObject({ code: "rate_limited", param: "max_tokens" });
    expect(error?.message).toContain("this request alone may take more than 1000 tokens");
    expect((await outcome(core, "chat", { ...hello, maxTokens: 20 })).code).toBe("ok");
  });

  it.each([
    ["without a time", undefined, "ok"],
    ["for 20 s", 20, "unavailable"],
  ] as const)(
    "keeps others from it for a server of its own at its limit, if that asked for a time: %s",
    async (_, retryAfter, next) => {
      const options = retryAfter === undefined ? {} : { retryAfter };
      let busy: LintelError | undefined = new LintelError("rate_limited", "busy", options);
      const core = await inFrontOf({}, front, () => busy);
      expect((await outcome(core, "chat", hello)).code).toBe("rate_limited");
      busy = undefined;
      expect((await outcome(core, "chat", hello)).code).toBe(next);
    },
  );

  it("a limit that is used up lets the target rest for all", async () => {
    const core = await inFrontOf({ imagesPerDay: 1 }, front);
    expect((await outcome(core, "textToImage", image)).code).toBe("ok");
    expect((await outcome(core, "textToImage", image)).code).toBe("rate_limited");
    expect((await outcome(core, "textToImage", image)).code).toBe("unavailable");
  });
});

// An `openai` backend asks for images one by one.
describe.each(["rest", "node"] as const)("behind %s", (kind) => {
  it("a request for more images than are left of the day is refused alone", async () => {
    const core = await inFrontOf({ imagesPerDay: 2 }, fronts[kind]);
    expect((await outcome(core, "textToImage", image)).code).toBe("ok");
    const { error } = await outcome(core, "textToImage", { ...image, numImagesPerPrompt: 2 });
    expect(error).toMatchObject({ code: "rate_limited" });
    expect(error?.message).toContain("1 left; ask for less, or try again in 43200 s");
    expect((await outcome(core, "textToImage", image)).code).toBe("ok");
  });
});
