/** The moderation endpoint of an OpenAI-compatible API as a safety checker. */
import { askJson } from "../backends/http/ask.js";
import { Transport } from "../backends/http/transport.js";
import { Running } from "../backends/running.js";
import type { CallSignal } from "../core/cancellation.js";
import { LintelError } from "../core/errors.js";
import { isObject } from "../core/json.js";
import { longestTimerMs } from "../core/timers.js";
import type { OwnedChecker } from "./open.js";

/** Settings of the checker. */
export interface ModerationSettings {
  /** With its path; `/v1` is added to one without. */
  readonly url: string;
  readonly api_key?: string | undefined;
  readonly model: string;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Asks `POST {url}/moderations` about each image, inline. */
export function moderationChecker(settings: ModerationSettings): OwnedChecker {
  const { api_key: key, model, timeout } = settings;
  const url = new URL(settings.url);
  const base = url.pathname.replace(/\/+$/, "") || "/v1";
  const transport = new Transport({
    origin: url.origin,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    // A check has its time in all, however its answer comes.
    timeouts: { connect: 5000, first: 0, idle: 0 },
    connections: 16,
  });
  const running = new Running();
  const ask = async (body: string, signal: CallSignal): Promise<unknown> => {
    const followed = running.follow(signal);
    const timer = setTimeout(() => followed.abort(tooLate()), Math.min(timeout, longestTimerMs));
    try {
      const path = `${base}/moderations`;
      return await askJson(transport, { method: "POST", path, body, signal: followed.signal });
    } finally {
      clearTimeout(timer);
      followed.end();
    }
  };
  return {
    async isHarmful({ buffer, byteOffset, byteLength }, signal) {
      const data = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
      const image = { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } };
      const answer = await ask(JSON.stringify({ model, input: [image] }), signal);
      const results = isObject(answer) && Array.isArray(answer.results) ? answer.results : [];
      const flags = results.map((result) => isObject(result) && result.flagged);
      if (flags.length === 0 || flags.some((flag) => typeof flag !== "boolean")) {
        throw new LintelError(
          "upstream_failed",
          "the moderation server answered without a verdict",
        );
      }
      return flags.includes(true);
    },
    close: () => transport.close(),
  };
}

const tooLate = () => new LintelError("timeout", "the moderation server took too long");
