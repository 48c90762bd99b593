/** Options of `lintel node` that say how chat models run. */
import { resolve } from "node:path";
import { chatEngineFields, chatLora, chatTemplate, type Lora } from "../backends/llama/schema.js";
import { lookAt } from "../backends/local.js";
import { messageOf } from "../config/problems.js";
import type { NodeSettings } from "../node-settings.js";
import { NotAFile, readRegular } from "../regular-file.js";
import { type Given, UsageError } from "./command.js";
import { fieldOf, oneOf } from "./option-fields.js";

/** What counts for all of them. */
export const chatEngineOf = (given: Given): NodeSettings["chat"] => ({
  kv_cache_type: fieldOf(given, "kv-cache-type", chatEngineFields.kv_cache_type),
  flash_attention: flashOf(given),
  min_p: fieldOf(given, "min-p", chatEngineFields.min_p),
  repeat_penalty: fieldOf(given, "repeat-penalty", chatEngineFields.repeat_penalty),
  presence_penalty: fieldOf(given, "presence-penalty", chatEngineFields.presence_penalty),
  frequency_penalty: fieldOf(given, "frequency-penalty", chatEngineFields.frequency_penalty),
});

function flashOf(given: Given): boolean | "auto" | undefined {
  const word = oneOf(given, "flash-attention", ["true", "false", "auto"] as const);
  return word === undefined || word === "auto" ? word : word === "true";
}

/** Chat templates by names of models. */
export function templatesOf(given: Given): ReadonlyMap<string, string> {
  return new Map(
    given.texts("chat-template").map((written) => {
      const refused = (why: string) => new UsageError(`--chat-template ${written}: ${why}`);
      const [model, file] = splitAtFile(written) ?? [];
      if (!model || !file) throw refused("must be a model's name, =, and a file");
      const text = readTemplate(file, refused);
      const { data, error } = chatTemplate.safeParse(text, { error: messageOf, jitless: true });
      if (error) throw refused(error.issues[0]?.message ?? "");
      return [model, data];
    }),
  );
}

/** LoRAs by names of models, in their order. */
export function lorasOf(given: Given): ReadonlyMap<string, Lora[]> {
  const loras = new Map<string, Lora[]>();
  for (const text of given.texts("lora")) {
    const [, named = text, scale = "1"] =
      /^(.*):(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/s.exec(text) ?? [];
    const [model, path] = splitAtFile(named) ?? [];
    const refused = (why: string) => new UsageError(`--lora ${text}: ${why}`);
    if (!model || !path) throw refused("must be a model's name, =, and a file");
    const written = { path: resolve(path), scale: Number(scale) };
    const { data, error } = chatLora.safeParse(written, { error: messageOf, jitless: true });
    if (error) throw refused(`${error.issues[0]?.path.join(".")}: ${error.issues[0]?.message}`);
    loras.set(model, [...(loras.get(model) ?? []), data]);
  }
  return loras;
}

/** A name and a path, each of which may have a = itself: where a file is there, or else at the first one. */
function splitAtFile(text: string): readonly [name: string, path: string] | undefined {
  const all = [...text.matchAll(/=/g)]
    .map(({ index }) => [text.slice(0, index), text.slice(index + 1)] as const)
    .filter(([name, path]) => name !== "" && path !== "");
  return all.find(([, path]) => lookAt(path)) ?? all[0];
}

function readTemplate(file: string, refused: (why: string) => UsageError): string {
  try {
    return readRegular(file)
      .toString("utf8")
      .replace(/^\uFEFF/, "");
  } catch (error) {
    if (error instanceof NotAFile) throw refused(error.message);
    const { code } = error as NodeJS.ErrnoException;
    throw refused(code === "ENOENT" ? "there is no such file" : `it can't be read (${code})`);
  }
}
