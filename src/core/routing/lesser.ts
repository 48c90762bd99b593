/** Targets that would leave out what others can do. */
import type { Call } from "../call.js";
import { files, haveFiles } from "../documents.js";
import { logprobs } from "../parameters.js";
import type { Target } from "./target.js";

/**
 * Of the targets of a call that offers tools those that know none, of one with files those that take none,
 * and of one that wants to know how likely tokens are those that don't tell, where others do: they would
 * answer without, or read a document's text alone.
 */
export function lesserFor(
  { request }: Call,
  targets: readonly Target[],
): ReadonlySet<Target> | undefined {
  if (targets.length < 2 || request.$typeName !== "lintel.v1.LLMRequest") return undefined;
  const offers = request.tools.length > 0 && request.toolChoice?.type !== "none";
  const wanted = [
    ...(offers ? ["tools"] : []),
    ...(haveFiles(request) ? [files] : []),
    ...(request.logprobs ? [logprobs] : []),
  ];
  if (wanted.length === 0) return undefined;
  const lesser = targets.filter(({ model }) => !wanted.every((it) => model.supports.includes(it)));
  return lesser.length > 0 && lesser.length < targets.length ? new Set(lesser) : undefined;
}
