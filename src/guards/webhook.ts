/** A server of the operator's own as a guard of texts. */
import { type PassUser, toldUser } from "../backends/end-user.js";
import { byLowerName } from "../backends/http/transport.js";
import { signing } from "../backends/http/webhook-signature.js";
import { LintelError } from "../core/errors.js";
import type { GuardedCall, GuardedImage, GuardedText, Verdict } from "../core/guards/guard.js";
import { isObject } from "../core/json.js";
import { wellFormed } from "../core/well-formed.js";
import { bearer, CheckingServer } from "../safety/checking-server.js";
import type { OwnedChecker } from "./open.js";

/** Where it is, and how it is asked. */
export interface WebhookSettings {
  /** Name of the guard, which it is told. */
  readonly name: string;
  readonly url: string;
  readonly api_key?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** As `signing` takes them. Default: none */
  readonly signing_secrets?: readonly string[] | undefined;
  /** Whether it is told whom calls are for. */
  readonly pass_user: PassUser;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Longest reason that callers are told, characters. */
const longestReason = 300;

/** Asks `POST {url}` about all texts and images of a call in one request. */
export function webhookGuard(settings: WebhookSettings): OwnedChecker {
  const { api_key, timeout, signing_secrets } = settings;
  const url = new URL(settings.url);
  const server = new CheckingServer({
    origin: url.origin,
    headers: { ...bearer(api_key), ...byLowerName(settings.headers) },
    timeout,
    sign: signing(signing_secrets),
    what: "guard's server",
  });
  return {
    async check(texts, call, images = []) {
      const question = questionOf(settings, call, texts, images);
      const answer = await server.ask(url.pathname + url.search, question, call.signal);
      return verdictIn(answer, texts, images);
    },
    close: () => server.close(),
  };
}

const questionOf = (
  { name: guard, pass_user }: WebhookSettings,
  { id, model, caller, team, user = "", side }: GuardedCall,
  texts: readonly GuardedText[],
  images: readonly GuardedImage[],
) => ({
  guard,
  ...{ id, model, caller, team, user: toldUser(user, pass_user), side },
  texts: texts.map(({ field, role, before, text }) => ({ field, role, before, text })),
  ...(images.length > 0 && {
    images: images.map(({ field, role, url }) => ({ field, role, url })),
  }),
});

/** @throws LintelError `upstream_failed` for what is none */
function verdictIn(
  answer: unknown,
  asked: readonly GuardedText[],
  images: readonly GuardedImage[],
): Verdict {
  if (!isObject(answer)) throw noVerdict();
  const { action, field, reason: said, texts } = answer;
  const reason = typeof said === "string" ? said.slice(0, longestReason) : "";
  const found = reason === "" ? [] : [reason];
  switch (action) {
    case "allow":
      return { action: "pass" };
    case "flag":
      return { action, found };
    case "block": {
      const named = [...asked, ...images].find((one) => one.field === field);
      return { action, found, reason, field: named?.field };
    }
    case "replace": {
      if (!Array.isArray(texts) || texts.length !== asked.length) throw noVerdict();
      if (texts.some((text) => typeof text !== "string")) throw noVerdict();
      const isSame = asked.every(({ text }, i) => text === texts[i]);
      return isSame ? { action: "pass" } : { action, found, texts: texts.map(wellFormed) };
    }
    default:
      throw noVerdict();
  }
}

const noVerdict = () =>
  new LintelError("upstream_failed", "the guard's server answered without a verdict");
