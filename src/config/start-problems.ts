/** What a start would fail at, or do without, on this machine and for this user. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { placeOf } from "../media/open.js";
import { hasSqlite, noSqlite } from "../state/database/sqlite-library.js";
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
  const { state, media } = config;
  const folders = {
    ...(keepsInFolder(stateSettings(config)) && {
      "state.directory": state.directory ?? defaultStateDirectory(env),
    }),
    ...(placeOf(media) === "folder" && media.directory && { "media.directory": media.directory }),
  };
  const problems = Object.entries(folders).flatMap(([field, path]) => {
    const code = folderProblem(path);
    return code === undefined ? [] : [`${field}: ${path} can't be written to now (${code})`];
  });
  return [...problems, ...missingSocketFolders(config), ...(await missingPackages(config, env))];
}

function missingSocketFolders({ listen, admin, telemetry: { prometheus } }: Config): string[] {
  const named = [
    ...listen.map((address) => ["listen", address] as const),
    ...(admin?.listen ?? []).map((address) => ["admin.listen", address] as const),
    ...(typeof prometheus === "object"
      ? [["telemetry.prometheus.listen", prometheus.listen] as const]
      : []),
  ];
  return named.flatMap(([field, address]) => {
    const folder = "path" in address ? dirname(address.path) : undefined;
    return folder === undefined || existsSync(folder)
      ? []
      : [`${field}: there is no folder ${folder} now, and none is made for a socket`];
  });
}

/** What to install, a line for each part that is configured and lacks packages. */
async function missingPackages(config: Config, env: NodeJS.ProcessEnv): Promise<string[]> {
  const { media, safety, telemetry } = config;
  const { database, tokens, usage, admin } = stateSettings(config);
  const lack = (loading: Promise<unknown>) =>
    loading.then(
      () => undefined,
      (error: Error) => error.message,
    );
  const otlp = otlpSettings(telemetry.otlp, env);
  const lacks = [
    otlp && (await lack(loadLibrary(otlp.protocols))),
    placeOf(media) === "bucket" &&
      (await lack(import("../media/s3-client.js").then((s3) => s3.loadSdk()))),
    safety.checker?.type === "nsfwjs" && (await import("../safety/nsfwjs.js")).lackOfNsfwjs(),
    database === "sqlite" &&
      (tokens || usage || admin) &&
      !hasSqlite() &&
      `usage and the database's tokens would be off: ${noSqlite}`,
  ];
  return lacks.filter((line) => typeof line === "string");
}
