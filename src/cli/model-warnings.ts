/** Says what in the configuration does nothing for the models that there are, once these are known. */
import { Task } from "../../gen/lintel/v1/models_pb.js";
import { namesIn } from "../config/name-warnings.js";
import { modelsMustCheck, unchecked } from "../config/safety-warnings.js";
import type { Config } from "../config/schema.js";
import { timeLimit } from "../core/abort.js";
import { hasListed } from "../core/backend.js";
import { toLintelError } from "../core/errors.js";
import type { Logger } from "../core/log.js";
import { fits } from "../core/pattern.js";
import type { RunningGateway } from "../gateway.js";

/** How long servers may take to say which models they have, milliseconds. */
const listMs = 1000;

/** Waits for backends that don't know their models yet, in so far as they answer soon. */
export async function listed({ backends }: Pick<RunningGateway, "backends">): Promise<void> {
  const unknown = backends.filter(({ backend }) => !hasListed(backend));
  // One signal for all of them: of one of Node's own it warns where more than ten listen.
  const signal = timeLimit(listMs);
  await Promise.allSettled(unknown.map(({ backend }) => backend.health(signal)));
}

/**
 * Warns of entries of `models` and of `default_models` that lead nowhere, and of limits, prices and guards
 * that leave out what a server's names have (Ollama's tag); and of images that pass unchecked.
 * Backends that have not answered yet may have the models: of what may be theirs nothing is said.
 */
export function warnOfModels(
  { core, backends, config }: Pick<RunningGateway, "core" | "backends" | "config">,
  log: Logger,
): void {
  for (const { name } of core.catalogue.leadingNowhere()) {
    log.warn({ model: name }, "an entry of models leads nowhere: no backend has the model");
  }
  for (const where of core.catalogue.mirrorsNowhere()) {
    log.warn(where, "a mirror leads nowhere: its backend has no such model");
  }
  for (const { field, model } of shortNames(config)) {
    const counts = core.catalogue.counted(model);
    if (counts === undefined || counts === model) continue;
    log.warn(
      { field, model, counts },
      "a limit, a price or a guard is of a name by which no call counts",
    );
  }
  if (modelsMustCheck(config)) warnOfUnchecked({ core, config }, log);
  if (backends.some(({ backend }) => !hasListed(backend))) return;
  const { chat, image } = config.default_models;
  for (const [field, name, task] of [
    ["default_models.chat", chat, Task.CHAT],
    ["default_models.image", image, Task.TEXT_TO_IMAGE],
  ] as const) {
    if (name === undefined) continue;
    try {
      core.catalogue.find(name, task);
    } catch (thrown) {
      log.warn({ field, problem: toLintelError(thrown).message }, "a default model can't be used");
    }
  }
}

/** Warns of models whose images pass unchecked, but for those of which the configuration alone tells it. */
function warnOfUnchecked(
  { core, config }: Pick<RunningGateway, "core" | "config">,
  log: Logger,
): void {
  const told = unchecked(config);
  const { action } = config.safety;
  for (const { model, backend } of core.catalogue.unchecked()) {
    if (told.includes(backend)) continue;
    log.warn({ model, backend, action }, "nobody looks at a model's images");
  }
}

/** Names of limits and prices, but for those that the configuration alone says enough of. */
function shortNames(config: Config): { field: string; model: string }[] {
  const aliases = config.models.flatMap((entry) => entry.aliases ?? []);
  return namesIn(config).filter(
    ({ model }) => !(model.includes("*") || aliases.some((alias) => fits(alias, model))),
  );
}
