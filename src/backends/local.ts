/** Model files on this machine: which engine runs them, and by which name they go. */
import { existsSync, readdirSync, type Stats, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";

/** A model that an engine can try to load. */
export interface LocalModel {
  readonly type: "llama" | "onnx";
  readonly id: string;
  readonly path: string;
}

/** How deep folders are searched. */
const deepest = 3;

/**
 * The models at some paths: GGUF files, folders in diffusers' layout, and
 * folders of these. A name that is taken gets a number behind it. What is
 * neither is taken for a model too, so that its engine says what is wrong; and
 * so are names on Hugging Face. Folders inside of one that can't be read, as
 * `lost+found`, are passed over, and so are files beside models, as `mmproj-F16.gguf`.
 */
export function findModels(paths: readonly string[]): LocalModel[] {
  const models: LocalModel[] = [];
  const taken = new Set<string>();
  for (const path of paths.map((given) => (isRemote(given) ? given : resolve(given)))) {
    const found = isRemote(path) ? [modelAt(path)] : search(path, deepest);
    for (const model of found.length > 0 ? found : [modelAt(path)]) {
      let id = model.id;
      for (let n = 2; taken.has(id); n++) id = `${model.id}-${n}`;
      taken.add(id);
      models.push({ ...model, id });
    }
  }
  return models;
}

/** Whether this is a model's name on Hugging Face, as `hf:user/repository:Q4_K_M`, and not a path. */
export const isRemote = (path: string) => path.startsWith("hf:");

/** The name of the model in a GGUF file, or behind a name on Hugging Face. */
export function ggufName(path: string): string {
  const name = basename(path).replace(/(?:-00001-of-\d{5})?\.gguf$/i, "");
  return isRemote(path) ? name.replace(/(?:-gguf)?(?::.*)?$/i, "") : name;
}

const isGguf = (path: string) => /\.gguf$/i.test(path);

/** Of a model in several files, the first stands for all. */
const isFurtherPart = (path: string) => /-(?!00001-)\d{5}-of-\d{5}\.gguf$/i.test(path);

/** What stands beside models, and is none: a projector of images, and what models were quantized with. */
const isBeside = (name: string) =>
  isGguf(name) && /(?:^|[-_.])mmproj(?:[-_.]|$)|^imatrix/i.test(name);

function search(path: string, depth: number): LocalModel[] {
  if (!lookAt(path)?.isDirectory())
    return isGguf(path) && !isFurtherPart(path) ? [modelAt(path)] : [];
  if (existsSync(join(path, "model_index.json"))) return [modelAt(path)];
  if (depth === 0) return [];
  return namesIn(path)
    .filter((name) => !name.startsWith(".") && name !== "node_modules" && !isBeside(name))
    .flatMap((name) => search(join(path, name), depth - 1));
}

/** What is at a path; nothing where that can't be found out. What is wrong there, loading says. */
export function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** What is in a folder, in order; nothing if it can't be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function modelAt(path: string): LocalModel {
  return isGguf(path) || isRemote(path)
    ? { type: "llama", id: ggufName(path), path }
    : { type: "onnx", id: basename(path), path };
}
