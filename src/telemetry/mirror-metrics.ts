/** What is counted and measured of mirrored calls, apart from that of the calls themselves. */
import { unit } from "../core/limits/prices.js";
import type { Mirrored, NotMirrored } from "../core/mirrored.js";
import type { callInstruments } from "./call-instruments.js";
import type { Attributes } from "./instruments.js";
import { operationOf } from "./operation.js";
import { countedModel } from "./tally.js";

type Instruments = ReturnType<typeof callInstruments>;

/** Counts a mirrored call. */
export function countMirrored(on: Instruments, mirrored: Mirrored): void {
  const { method, of, record, attributes, spend } = mirrored;
  const { backend, model, outcome, firstMs, durationMs } = record;
  const mirror = labelsOf(countedModel(of), backend, model);
  const ended = outcome === "ok" ? mirror : { ...mirror, "error.type": outcome };
  on.mirrorCalls.at({ ...mirror, "lintel.outcome": outcome }).add(1);
  on.mirrorDuration.at(ended).record(durationMs / 1000);
  if (operationOf(method)?.stream && firstMs !== undefined) {
    on.mirrorFirstChunk.at(mirror).record(firstMs / 1000);
  }
  const { promptTokens, completionTokens, images } = attributes;
  const { cachedTokens, cacheWriteTokens, reasoningTokens } = attributes;
  const tokens = (type: string) => on.mirrorTokens.at({ ...mirror, "gen_ai.token.type": type });
  if (promptTokens !== undefined) tokens("input").add(promptTokens);
  if (completionTokens !== undefined) tokens("output").add(completionTokens);
  if (cachedTokens !== undefined) on.mirrorCachedTokens.at(mirror).add(cachedTokens);
  if (cacheWriteTokens !== undefined) on.mirrorCacheWriteTokens.at(mirror).add(cacheWriteTokens);
  if (reasoningTokens !== undefined) on.mirrorReasoningTokens.at(mirror).add(reasoningTokens);
  if (images) on.mirrorImages.at(mirror).add(images);
  if (spend !== undefined) on.mirrorSpend.at(mirror).add(spend / unit);
}

/** Counts a call that was to be mirrored. */
export function countPassedOver(on: Instruments, { of, backend, model, why }: NotMirrored): void {
  const mirror = labelsOf(countedModel(of), backend, model);
  on.mirrorPassedOver.at({ ...mirror, "lintel.mirror.reason": why }).add(1);
}

/** The model whose calls they are, and the one that got them as well. */
const labelsOf = (mirrored: string, backend: string, model: string): Attributes => ({
  "lintel.mirrored.model": mirrored,
  "lintel.backend": backend,
  "gen_ai.request.model": model,
});
