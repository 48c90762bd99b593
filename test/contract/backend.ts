/** The backend behind the table: one model for each thing that can come of a call. */
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Backend, Handlers } from "../../src/core/backend.js";
import { pngUrl } from "../../src/core/base64.js";
import type { Handle } from "../../src/core/call.js";
import { drawnImage } from "../../src/core/drawn.js";
import { LintelError } from "../../src/core/errors.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { hashToken } from "../../src/core/tokens.js";
import { chatModel, imageModel } from "../support/models.js";
import {
  breaksAfter,
  drawsOnce,
  paints,
  piece,
  png,
  scripted,
  stopsAt,
  thinks,
  thought,
  usesTool,
} from "../support/scripted.js";
import { saysTokens } from "../support/tokens.js";

/** Tokens: `all` may do all, `limited` no model of the table, `elsewhere` nothing from this machine. */
export const tableSettings: Partial<CoreSettings> = {
  auth: {
    mode: "token",
    tokens: [
      { name: "all", hash: hashToken("all") },
      { name: "limited", hash: hashToken("limited"), models: ["other-*"] },
      { name: "elsewhere", hash: hashToken("elsewhere"), from: ["203.0.113.0/24"] },
    ],
  },
};

const ends = (text: string, reason: string, usage?: [number, number]): Handle<"chat"> =>
  async function* () {
    yield [piece(text)];
    yield [piece("", reason, usage)];
  };

const fails = (error: Error): Handle<"chat"> => breaksAfter(error);

const chats: Record<string, Handle<"chat">> = {
  "chat-1": async function* () {
    yield [piece("Hello, "), piece("wörld ")];
    yield [piece("🌍")];
    yield [piece("", "stop", [7, 3])];
  },
  warned: async function* () {
    yield [piece("warned")];
    yield [{ ...piece("", "stop", [1, 1]), warnings: ["the server said so at the end"] }];
  },
  thinks: thinks([thought("Hm, 6 "), thought("× 7.")], "42"),
  short: ends("cut", "length", [1, 1]),
  stopped: stopsAt("say", '".'),
  "stopped-short": stopsAt("say", '".', "length"),
  uncounted: ends("hi", "stop"),
  plain: ends("plain", "stop", [1, 1]),
  broken: fails(new LintelError("upstream_failed", "the model server failed (status 500)")),
  unreachable: fails(new LintelError("upstream_unreachable", "the model server can't be reached")),
  slow: fails(new LintelError("timeout", "the model server took too long")),
  busy: fails(
    new LintelError("rate_limited", "the model server is at its limit", { retryAfter: 7 }),
  ),
  away: fails(new LintelError("unavailable", "no model server can take it", { retryAfter: 3 })),
  picky: fails(new LintelError("invalid_value", "the model server refused the request: too long")),
  faulty: fails(new Error("secret at http://10.1.2.3/")),
  tells: async function* ({ request: asked }) {
    const { frequencyPenalty, presencePenalty, repetitionPenalty, minP, logprobs } = asked;
    const told = [frequencyPenalty, presencePenalty, repetitionPenalty, minP, logprobs];
    yield [piece([...told, asked.topLogprobs].join(" "))];
    yield [piece("", "stop", [1, 1])];
  },
  calls: usesTool("weather"),
  draws: drawsOnce(
    "Here ",
    [png(1), png(2)].map((bytes) => drawnImage(pngUrl(bytes))),
    "they are.",
  ),
  likely: saysTokens("Hel", "lo"),
  half: breaksAfter(
    new LintelError("upstream_failed", "the model server broke off"),
    "half ",
    "of ",
  ),
};

const images: Record<string, Handle<"streamTextToImage">> = {
  "image-1": paints(),
  fixed: paints(),
  revising: paints(2, { revisedPrompt: 'a "röd" circle' }),
  small: paints(),
  // biome-ignore lint/correctness/useYield: fails before it has anything to yield
  "no-brush": async function* () {
    throw new LintelError("upstream_failed", "the model server failed (status 500)");
  },
};

const special: Record<string, Partial<Model>> = {
  short: { maxTokens: 100 },
  plain: { supports: ["max_tokens"] },
  fixed: { supports: ["seed"] },
  small: { defaults: { width: 128, height: 64 } },
};

/** Serves every model of the table. */
export function tableBackend(): Backend {
  const handlers: Handlers = {
    chat: (call) => (chats[call.request.model] as Handle<"chat">)(call),
    streamTextToImage: (call) =>
      (images[call.request.modelId] as Handle<"streamTextToImage">)(call),
  };
  return scripted(handlers, [
    ...Object.keys(chats).map((id) => chatModel(id, special[id])),
    ...Object.keys(images).map((id) => imageModel(id, special[id])),
  ]);
}
