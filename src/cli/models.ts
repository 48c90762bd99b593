/** `lintel models`: which models a Lintel has, where from, how large and in which state. */
import { type Model, ModelsService, State } from "../../gen/lintel/v1/models_pb.js";
import { modalityOf } from "../core/model.js";
import { serverOptions, withServer } from "./client.js";
import type { Command } from "./command.js";
import { barWords, stateWords, taskWords } from "./model-words.js";
import { out, printable, say } from "./output.js";

import { table } from "./table.js";

const { server, token } = serverOptions;

export const models: Command = {
  summary: "lists the models of a Lintel, where from, how large and in which state",
  details: `States: ready (in memory, or at its server), idle (the next call loads it), loading, failed.
Where models come from is told by a node on a Unix socket, and elsewhere where the operator
asks for it: expose_sources in the configuration, lintel node --expose-sources.`,
  options: { server, token, json: { help: "for programs: JSON, with every field" } },
  run: (given) =>
    withServer(given, ModelsService, async (client, options) => {
      const { models } = await client.listModels({}, options);
      if (given.has("json")) out(JSON.stringify(models.map(entryOf), undefined, 2));
      else if (models.length === 0) say("there are no models");
      else out(forPeople(models));
      return 0;
    }),
};

/** What programs get. Bytes are a number: no file is as large as a double is exact. */
const entryOf = (model: Model) => ({
  id: model.id,
  task: taskWords[model.task] ?? "",
  state: stateWords[model.state] ?? "",
  state_detail: model.stateDetail,
  source: model.source,
  size_bytes: Number(model.sizeBytes),
  max_tokens: model.maxTokens,
  context_length: model.contextLength,
  input_modalities: model.inputModalities,
  output_modalities: model.outputModalities,
  prompt_bar: barWords[model.promptBar] ?? "",
  defaults: model.defaults,
  is_default: model.isDefault,
  supports: model.supports,
  loras: model.loras,
  created: model.created,
});

function forPeople(models: readonly Model[]): string {
  const heading = ["MODEL", "TASK", "STATE", "SIZE", "CONTEXT", "MODALITIES", "SOURCE"];
  const rows = models.map((model) => [
    model.isDefault ? `${model.id} (default)` : model.id,
    taskWords[model.task] ?? "",
    stateWords[model.state] ?? "",
    sizeWords(Number(model.sizeBytes)),
    model.contextLength > 0 ? String(model.contextLength) : "",
    modalityOf(model) ?? "",
    model.source,
  ]);
  const why = models
    .filter(({ state, stateDetail }) => state === State.FAILED && stateDetail !== "")
    .map(({ id, stateDetail }) => printable(`${id}: ${stateDetail}`));
  // A column that nothing stands in tells nothing.
  const kept = heading.map((_, i) => i < 3 || rows.some((row) => row[i] !== ""));
  const narrow = (row: readonly string[]) => row.filter((_, i) => kept[i]);
  const lines = table(narrow(heading), rows.map(narrow));
  return why.length > 0 ? `${lines}\n\n${why.join("\n")}` : lines;
}

/** Decimal units, as disks and downloads have them. */
function sizeWords(bytes: number): string {
  if (bytes === 0) return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const amount = bytes / 1000 ** power;
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}
