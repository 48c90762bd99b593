/** `lintel check`: says what is wrong with the configuration. */
import { loadConfig } from "../config/load.js";
import { missingFiles } from "../config/missing-files.js";
import { type Command, configOptions } from "./command.js";
import { out, say } from "./output.js";

export const check: Command = {
  summary: "checks the configuration without starting",
  details:
    "Prints every mistake with its line and exits with 1, or prints ok and exits with 0.\nEnvironment variables in the file must be set as for serve. Files of models that are not there\nare warnings: they may come before the start.",
  options: configOptions,
  async run(given) {
    const { config, file, warnings } = await loadConfig({
      file: given.text("config"),
      listen: given.texts("listen"),
    });
    for (const warning of [...warnings, ...missingFiles(config)]) say(`warning: ${warning}`);
    out(`${file ?? "no file, defaults"}: ok`);
    return 0;
  },
};
