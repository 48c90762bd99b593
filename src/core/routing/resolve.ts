/** Which model is meant, may the caller use it, and is it there yet? */
import { State } from "../../../gen/lintel/v1/models_pb.js";
import { checkModel } from "../authenticate.js";
import type { Backend } from "../backend.js";
import type { Call, Middleware } from "../call.js";
import type { CallSignal } from "../cancellation.js";
import { LintelError } from "../errors.js";
import { deferred } from "../iterate.js";
import { reasonOf } from "../log.js";
import { askedModel, isCoreMethod } from "../methods.js";
import type { Catalogue } from "./catalogue.js";
import type { Found } from "./lookup.js";
import type { Target } from "./target.js";

/**
 * Sets `call.targets` and `call.modelSettings`, having waited for a model that is being loaded, unless
 * tokens are only counted, and for backends that don't know their models yet.
 */
export function resolve(catalogue: Catalogue): Middleware {
  return (next) => (call) => {
    if (isCoreMethod(call.method)) return next(call);
    let found: Found;
    try {
      found = lookUp(call, catalogue);
    } catch (thrown) {
      const silent = catalogue.silent();
      if (silent.length === 0 || !isNotFound(thrown)) throw thrown;
      return deferred(async () => {
        const heard = await Promise.allSettled(silent.map((b) => b.ready?.("", call.signal)));
        call.signal.throwIfAborted();
        return next(withFound(call, lookUpAfter(call, catalogue, silent, heard)));
      });
    }
    // Another backend that has the model ready is not made to wait.
    const isThere = found.targets.some(({ model }) => model.state !== State.LOADING);
    // An estimate of tokens is better than to wait.
    if (isThere || call.method === "countTokens") return next(withFound(call, found));
    const loading = found.targets.filter(({ backend }) => backend.ready);
    if (loading.length === 0) return next(withFound(call, found));
    return deferred(async () => {
      await anyReady(loading, call.signal);
      return next(withFound(call, lookUp(call, catalogue)));
    });
  };
}

/** Resolves when one of them has the model; throws why the last one has not, if none will. */
async function anyReady(loading: readonly Target[], signal: CallSignal): Promise<void> {
  const ready = loading.map(({ backend, model }) => backend.ready?.(model.id, signal));
  await Promise.any(ready).catch(({ errors }: AggregateError) => {
    throw errors.at(-1);
  });
}

const isNotFound = (thrown: unknown) =>
  thrown instanceof LintelError && thrown.code === "model_not_found";

/** A backend that could not be asked may well have the model: that is no 404. */
function lookUpAfter(
  call: Call,
  catalogue: Catalogue,
  asked: readonly Backend[],
  heard: readonly PromiseSettledResult<unknown>[],
): Found {
  try {
    return lookUp(call, catalogue);
  } catch (thrown) {
    const away = heard.flatMap((one, i) =>
      one.status === "rejected" ? [`${asked[i]?.name}: ${reasonOf(one.reason)}`] : [],
    );
    if (!isNotFound(thrown) || away.length === 0) throw thrown;
    // Callers are not told of backends; the log names those that it waits for.
    const cause = [reasonOf(thrown), ...away].join("; ");
    throw new LintelError(
      "unavailable",
      "a model server that may have this model does not answer",
      { cause },
    );
  }
}

function lookUp(call: Call, catalogue: Catalogue): Found {
  const { task, name } = askedModel(call.method, call.request);
  const asked = name || catalogue.defaultFor(task);
  const found = catalogue.find(asked, task);
  call.attributes.model = found.name;
  call.attributes.asked = asked;
  call.attributes.countedAs = found.countedAs;
  call.attributes.alias = found.alias;
  checkModel(call);
  return found;
}

function withFound(call: Call, { targets, settings }: Found): Call {
  return { ...call, targets, modelSettings: settings };
}
