/** Which LoRAs a model has: files, by their names. */
import { basename, join } from "node:path";
import { lookAt, namesIn } from "../../local.js";

const ending = ".safetensors";

/**
 * The LoRAs of a model: the safetensors files in its folder's `loras` and those
 * that the configuration names.
 * @param more further files, and folders of files
 * @returns paths by id, which is the file's name without its ending
 */
export function findLoras(folder: string, more: readonly string[] = []): Map<string, string> {
  const found = new Map<string, string>();
  for (const place of [join(folder, "loras"), ...more]) {
    for (const path of filesAt(place)) {
      const id = basename(path).slice(0, -ending.length);
      if (!found.has(id)) found.set(id, path);
    }
  }
  return found;
}

/** A folder that can't be read has no LoRAs; which are there is in the list of models. */
function filesAt(place: string): string[] {
  const isFolder = lookAt(place)?.isDirectory() ?? false;
  const paths = isFolder ? namesIn(place).map((name) => join(place, name)) : [place];
  return paths.filter((path) => path.endsWith(ending));
}
