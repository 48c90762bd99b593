/** What a start would fail at, or do without, on this machine and for this user. */
import { defaultStateDirectory, folderProblem, keepsInFolder } from "../state/directory.js";
import { loadLibrary } from "../telemetry/library.js";
import type { Config } from "./schema.js";
import { stateSettings } from "./state.js";
import { otlpSettings } from "./telemetry.js";

/**
 * A line for each folder that can't be written to now, and for packages that are not installed.
 * The gateway may start elsewhere, or as somebody else, so it is no mistake. Makes nothing.
 */
export async function startProblems(
  config: Config,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string[]> {
  const { state, media, telemetry } = config;
  const folders = {
    ...(keepsInFolder(stateSettings(config)) && {
      "state.directory": state.directory ?? defaultStateDirectory(env),
    }),
    ...(media.store === "filesystem" &&
      media.delivery === "url" &&
      media.directory && { "media.directory": media.directory }),
  };
  const problems = Object.entries(folders).flatMap(([field, path]) => {
    const code = folderProblem(path);
    return code === undefined ? [] : [`${field}: ${path} can't be written to now (${code})`];
  });
  if (!otlpSettings(telemetry.otlp, env)) return problems;
  const lacks = await loadLibrary().then(
    () => [],
    (error: Error) => [error.message],
  );
  return [...problems, ...lacks];
}
