/**
 * How many tokens a prompt has, without running it. That is no attempt at an answer: it takes no
 * place at a model, waits for none, and says nothing of a model's health. Who has a model that it
 * would have to load decides for itself.
 */
import type { CountTokensResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { State } from "../../../gen/lintel/v1/models_pb.js";
import type { Call, Handle } from "../call.js";
import { Cancellation } from "../cancellation.js";
import { tokenCount } from "../chat-messages.js";
import { type DocumentReader, haveFiles, readingDocuments } from "../documents.js";
import { LintelError, toLintelError } from "../errors.js";
import { estimatePrompt } from "../estimate.js";
import { fitRequest } from "../fit.js";
import { once } from "../iterate.js";
import { Warnings } from "../warnings.js";
import { AttemptReader } from "./attempt-reader.js";
import { lesserFor } from "./lesser.js";
import { passedTo } from "./pass-headers.js";
import type { RoutingTools } from "./routing.js";
import type { Target } from "./target.js";

type Counting = Call<"countTokens">;
type Tools = Pick<RoutingTools, "clock" | "bounds" | "documents" | "settings">;

/** How long model servers are asked, in all, besides the reading of documents, milliseconds: an estimate is better than to wait. */
const patienceMs = 10_000;

/**
 * Counts as the first target does that is in health and able to; by an estimate where none is.
 * The request is made to fit as for an answer, with the same warnings and errors.
 */
export const counting =
  (tools: Tools): Handle =>
  (call) =>
    once(async () => [await count(call as Counting, tools)]);

/** A target, and the call as it would get it. */
interface Fitting {
  readonly target: Target;
  readonly call: Counting;
}

async function count(call: Counting, tools: Tools): Promise<CountTokensResponse> {
  const fitting = fittingOf(call, tools);
  const { counted, by } =
    (await countedBy(fitting, call, tools)) ?? (await estimated(fitting, tools));
  by.warnings.handTo(call.warnings);
  for (const text of counted.warnings) call.warnings.add(text);
  return { ...counted, model: call.attributes.model ?? "", warnings: [...call.warnings] };
}

/** Those that could answer, best first. @throws LintelError why the last one can't, where none could */
function fittingOf(call: Counting, { bounds, documents, settings }: Tools): Fitting[] {
  const { targets = [], modelSettings, cutsTokens } = call;
  let misfit: LintelError | undefined;
  const fitting = targets.flatMap((target): Fitting[] => {
    const warnings = new Warnings();
    try {
      const request = fitRequest(
        call.request,
        target.model,
        modelSettings,
        bounds,
        warnings,
        cutsTokens,
        documents !== undefined,
      );
      const backend = target.backend.name;
      const passed = passedTo(backend, call.passed, settings.passHeaders);
      return [{ target, call: { ...call, request, warnings, backend, passed } }];
    } catch (thrown) {
      misfit = toLintelError(thrown);
      return [];
    }
  });
  const lesser = lesserFor(call, targets);
  const isLesser = ({ target }: Fitting) => Number(lesser?.has(target) ?? false);
  if (fitting.length > 0) return fitting.sort((a, b) => isLesser(a) - isLesser(b));
  throw misfit ?? new LintelError("unavailable", "no model server has this model now");
}

/** What one of them counts; `undefined` where none does. */
async function countedBy(
  fitting: readonly Fitting[],
  { signal, attributes, log, id }: Counting,
  tools: Tools,
) {
  // The caller may have left while it was found out who calls.
  signal.throwIfAborted();
  const limit = new Cancellation();
  const stop = () => limit.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const { clock, documents } = tools;
  const reader = documents && new AttemptReader(documents, clock, () => timer.refresh());
  const timer = clock.after(patienceMs, () => {
    // Its time begins anew once that was read.
    if (!reader?.busy) limit.abort(tooSlow());
  });
  try {
    for (const { target, call } of fitting) {
      const { backend, model, endpoint } = target;
      const handle = backend.handlers.countTokens;
      if (!handle || model.state === State.FAILED || !endpoint.health.isWell(clock.now())) continue;
      try {
        const own = { ...call, signal: limit };
        const counted = await only(withDocuments(handle, target, own, reader)(own));
        attributes.backend = backend.name;
        return { counted, by: call };
      } catch (thrown) {
        const error = toLintelError(thrown);
        if (isAboutRequest(error)) throw error;
        log.debug({ id, backend: backend.name, model: model.id, err: error }, "not counted");
        if (limit.aborted) return undefined;
      }
    }
    return undefined;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", stop);
  }
}

async function estimated([first]: readonly Fitting[], tools: Tools) {
  const { target, call } = first as Fitting;
  const counted = await only(withDocuments(estimating, target, call, tools.documents)(call));
  return { counted, by: call };
}

const estimating: Handle<"countTokens"> = ({ request }) =>
  once(async () => [tokenCount(estimatePrompt(request), true)]);

/** With documents told as text to a model that takes none, as it is answered. */
function withDocuments(
  handle: Handle<"countTokens">,
  { model }: Target,
  { request }: Counting,
  reader: DocumentReader | undefined,
): Handle<"countTokens"> {
  if (!reader || !haveFiles(request)) return handle;
  return readingDocuments(handle as Handle, reader, model) as Handle<"countTokens">;
}

async function only(counted: ReturnType<Handle<"countTokens">>): Promise<CountTokensResponse> {
  for await (const [message] of counted) if (message) return message;
  throw new LintelError("upstream_failed", "the model server counted nothing");
}

/** Whether an answer would fail, too, wherever it comes from; or somebody has made a mistake here. */
const isAboutRequest = ({ http, code, retry }: LintelError): boolean =>
  code === "internal" || (http < 500 && retry === "never");

const tooSlow = () => new LintelError("timeout", "the model server did not count in time");
