/** Models by their names on Hugging Face: found on this machine, or fetched. */

import { basename } from "node:path";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import { isRemote } from "../local.js";
import type { LlamaLibrary } from "./library.js";
import { unloading } from "./residency.js";

/** How to come by a file. */
export interface DownloadOptions {
  /** Folder for models that were fetched. */
  readonly folder: string;
  readonly log: Logger;
  /** Aborts a download; what was fetched of it is taken up the next time. */
  readonly signal: AbortSignal;
}

/**
 * The file of a model: the path itself, or the file of a name such as
 * `hf:user/repository:Q4_K_M`. Fetches it if it is not in the folder; then it is
 * not asked for again, and needs no network. The endpoint is `HF_ENDPOINT`, or
 * Hugging Face; `HF_TOKEN` gives access to models that are not public.
 * @throws LintelError `model_not_loaded` that names the model and says what to do
 */
export async function localFile(
  { resolveModelFile }: LlamaLibrary,
  path: string,
  { folder, log, signal }: DownloadOptions,
): Promise<string> {
  if (!isRemote(path)) return path;
  let tenths = 0;
  try {
    return await resolveModelFile(path, {
      directory: folder,
      cli: false,
      signal,
      deleteTempFileOnCancel: false,
      onProgress({ totalSize, downloadedSize }) {
        const reached = Math.floor((10 * downloadedSize) / totalSize);
        if (!(reached > tenths)) return;
        tenths = reached;
        log.info({ model: path, percent: tenths * 10, bytes: totalSize }, "fetching a model");
      },
    });
  } catch (cause) {
    if (signal.aborted) throw unloading();
    throw new LintelError("model_not_loaded", `${path}: ${why(cause)}; ${remedy(path)}`, { cause });
  }
}

function why(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  if (/does not exist|\b404\b/.test(text)) return "there is no such model file";
  if (/\b40[13]\b/.test(text))
    return "access was refused, HF_TOKEN must hold a token that may read it";
  if (/ENOSPC/.test(text)) return "the disk is full";
  if (/EACCES|EROFS/.test(text)) return "the folder for models can't be written to";
  if (/Invalid Hugging Face URI/.test(text)) return "not a name such as hf:user/repository:Q4_K_M";
  return "not on this machine, and it can't be fetched";
}

const remedy = (path: string) =>
  `check the name and the network, or fetch ${path.endsWith(".gguf") ? basename(path) : "the GGUF file"} elsewhere and give its path`;
