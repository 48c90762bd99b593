/** One call that a mirror gets as well: asked once, read to its end, and thrown away. */
import type {
  StreamTextToImageResponse,
  TextToImageRequest,
} from "../../../gen/lintel/v1/image_pb.js";
import { unlessAborted } from "../abort.js";
import { cutShort } from "../adapt.js";
import type { Call, Handle } from "../call.js";
import { type Attributes, newAttributes } from "../call-attributes.js";
import { Cancellation } from "../cancellation.js";
import { completion } from "../completion/step.js";
import { LintelError, toLintelError } from "../errors.js";
import { costOf, priceOf, unit } from "../limits/prices.js";
import { inShort, reasonOf } from "../log.js";
import { isChat } from "../methods.js";
import type { Mirrored, WhyNot } from "../mirrored.js";
import type { Enrolled } from "../roster.js";
import type { MirrorObservation, Observation } from "../telemetry.js";
import { Warnings } from "../warnings.js";
import { Attempt, type Batch } from "./attempt.js";
import { isDeadline } from "./blame.js";
import type { Mirror, MirrorParts, Mirrors } from "./mirrors.js";
import { withoutTier } from "./priced-tier.js";
import { promptTokensOf } from "./quota.js";
import type { RoutingTools } from "./routing.js";
import { mirrorDefaults } from "./settings.js";
import type { Target } from "./target.js";
import { onlyWaits } from "./waiting.js";

/** A call on its way to a mirror. */
export class MirroredCall implements Enrolled {
  place = -1;
  readonly #call: Call;
  readonly #mirror: Mirror;
  readonly #mirrors: Mirrors;
  readonly #tools: RoutingTools;
  readonly #parts: MirrorParts;
  readonly #cancellation = new Cancellation();

  /** @param call as its first target gets it, but for what is made to fit that one */
  constructor(
    call: Call,
    mirror: Mirror,
    mirrors: Mirrors,
    tools: RoutingTools,
    parts: MirrorParts,
  ) {
    this.#call = call;
    this.#mirror = mirror;
    this.#mirrors = mirrors;
    this.#tools = tools;
    this.#parts = parts;
  }

  /** Ends it. Whatever holds the model server up is not waited for. */
  abort(reason: LintelError): void {
    this.#cancellation.abort(reason);
  }

  /** Asks the mirror, where it may be asked. Fails only by a fault of the gateway. */
  async run(): Promise<void> {
    if (this.#cancellation.aborted) return;
    const mirror = this.#mirror;
    const { maxInFlight = mirrorDefaults.maxInFlight } = mirror.settings;
    if (mirror.running >= maxInFlight) return this.#skip("full");
    const target = this.#mirrors.placeOf(mirror, this.#call);
    if (typeof target === "string") return this.#skip(target);
    const own = this.#own(target);
    const tokens = promptTokensOf(target.endpoint.quota, own);
    const attempt = this.#attempt(own, target, tokens);
    if (!attempt) return this.#skip("unfit");
    mirror.running++;
    try {
      await this.#read(own, attempt, target.endpoint.take("", tokens));
    } finally {
      mirror.running--;
    }
  }

  async #read(own: Call, attempt: Attempt, probe: boolean): Promise<void> {
    const { clock } = this.#tools;
    const timer = clock.after(this.#totalMs, () => this.abort(tooLong()));
    let failure: LintelError | undefined;
    try {
      await unlessAborted(readAll(own, attempt, probe), this.#cancellation);
      attempt.end("ok");
    } catch (thrown) {
      failure = toLintelError(this.#cancellation.aborted ? this.#cancellation.reason : thrown);
      attempt.target.endpoint.heed(failure, clock.now());
      const ours = this.#cancellation.aborted || failure.leaving || isDeadline(own, failure.code);
      attempt.end(failure, ours);
      attempt.giveUp(failure);
    } finally {
      timer.cancel();
      attempt.release();
    }
    this.#tell(own, attempt, failure);
  }

  /** What the mirror gets. Nothing of the call itself is in it that is written to, or that ends. */
  #own(target: Target): Call {
    const call = this.#call;
    const watch = call.observation?.mirrors;
    const { attributes: of } = call;
    const { door, model, countedAs } = of;
    return {
      ...call,
      // What is thrown away is neither worth a dearer tier of service nor told of a caller's patience.
      request: withoutTier(call.request),
      // Documents are read in a turn of their own, not in the caller's.
      caller: undefined,
      targets: [target],
      // One that falls silent ends alone.
      unseen: true,
      signal: this.#cancellation,
      deadline: performance.now() + this.#totalMs,
      life: undefined,
      observation: watch && watchedBy(watch, of),
      attributes: { ...newAttributes(door), model, countedAs },
      warnings: new Warnings(),
      metadata: new Map(),
    };
  }

  /** `undefined`: the mirror can't do what is asked. */
  #attempt(own: Call, target: Target, tokens: number): Attempt | undefined {
    const { clock, bounds, prices, documents, settings } = this.#tools;
    const timeouts = this.#tools.timeoutsOf(own);
    const now = clock.now();
    const { passHeaders } = settings;
    const options = {
      target,
      clock,
      now,
      timeouts,
      bounds,
      prices,
      documents,
      passHeaders,
      tokens,
    };
    try {
      return new Attempt(own, { ...options, hedge: false, detached: true });
    } catch (thrown) {
      const { log, id } = this.#call;
      const reason = reasonOf(thrown);
      log.debug({ id, backend: target.backend.name, model: target.model.id, reason }, "unfit");
      return undefined;
    }
  }

  get #totalMs(): number {
    const { totalTimeoutMs } = this.#parts.settings;
    return this.#call.modelSettings?.timeouts?.total ?? totalTimeoutMs;
  }

  #skip(why: WhyNot): void {
    const { id, attributes, observation, log } = this.#call;
    const { settings } = this.#mirror;
    const { backend } = settings;
    const model = this.#mirrors.nameOf(settings, this.#call);
    log.debug({ id, model: attributes.model, backend, mirror: model, why }, "not mirrored");
    const counted = this.#mirrors.countedName(settings, this.#call);
    observation?.mirrors?.passedOver({ of: attributes, backend, model: counted, why });
  }

  #tell(own: Call, { record }: Attempt, failure: LintelError | undefined): void {
    const { id, method, attributes: of, observation, log } = this.#call;
    const { attributes } = own;
    const { backend, model } = record;
    const { promptTokens, servedTier } = attributes;
    const price = priceOf(this.#parts.prices, model, {
      backend,
      backendModel: model,
      promptTokens,
      servedTier,
    });
    const spend = price && costOf(price, attributes);
    const mirrored: Mirrored = { method, of, record, attributes, spend };
    observation?.mirrors?.answered(mirrored);
    const { sample } = this.#parts.settings.callLog;
    if (!failure && sample !== 1 && Math.random() >= sample) return;
    log.info({ id, ...lineOf(mirrored, failure) }, "mirrored call");
  }
}

/** Whoever watches the mirrors of a call hears of this one what it hears of the call's own attempts. */
const watchedBy = (watch: MirrorObservation, of: Readonly<Attributes>): Observation => ({
  wantsNames: watch.wantsNames,
  attempt: (record) => watch.asked(record, of),
  named: (record, name) => watch.named?.(record, name),
  end() {},
});

/** The end of a mirrored call, for the log. */
function lineOf({ of, record, attributes, spend }: Mirrored, failure: LintelError | undefined) {
  const { firstMs } = record;
  return {
    model: of.model,
    backend: record.backend,
    mirror: record.model,
    promptTokens: attributes.promptTokens,
    completionTokens: attributes.completionTokens,
    cachedTokens: attributes.cachedTokens,
    cacheWriteTokens: attributes.cacheWriteTokens,
    cacheWrite1hTokens: attributes.cacheWrite1hTokens,
    reasoningTokens: attributes.reasoningTokens,
    estimated: attributes.estimated,
    images: attributes.images,
    spend: spend === undefined ? undefined : spend / unit,
    code: record.outcome,
    firstMs: firstMs === undefined ? undefined : Math.round(firstMs),
    totalMs: Math.round(record.durationMs),
    error: failure?.message,
    cause: failure?.cause === undefined ? undefined : inShort(reasonOf(failure.cause)),
  };
}

/** Reads an answer to its end, and notes down what it took. @throws LintelError as the mirror fails */
async function readAll(own: Call, attempt: Attempt, probe: boolean): Promise<void> {
  const handle: Handle = () => answerOf(attempt, probe);
  const chats = isChat(own.method);
  let done = false;
  for await (const batch of completion(handle)(own)) {
    if (chats) continue;
    for (const { event } of batch as readonly StreamTextToImageResponse[]) {
      if (event.case === "image") own.attributes.images = (own.attributes.images ?? 0) + 1;
      done ||= event.case === "done";
    }
  }
  if (!chats && !(done && own.attributes.images === imagesOf(own, attempt))) throw cutShort();
}

/** How many images are asked for: one of a model that makes no more at once. */
function imagesOf({ request }: Call, { target }: Attempt): number {
  const { numImagesPerPrompt = 1 } = request as TextToImageRequest;
  return target.model.supports.includes("num_images_per_prompt") ? numImagesPerPrompt : 1;
}

async function* answerOf(attempt: Attempt, probe: boolean): AsyncGenerator<Batch> {
  let step = await attempt.first(probe);
  while (onlyWaits(step)) step = await attempt.first(probe);
  attempt.win(step);
  while (!step.done) {
    yield step.value;
    step = await new Promise((came, failed) => attempt.ask({ came, failed }));
  }
}

const tooLong = () => new LintelError("timeout", "the deadline of the mirrored call passed");
