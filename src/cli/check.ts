/** `lintel check`: says what is wrong with the configuration. */
import { loadConfig } from "../config/load.js";
import { missingFiles } from "../config/missing-files.js";
import { startProblems } from "../config/start-problems.js";
import { type Command, configOptions } from "./command.js";
import { out, say } from "./output.js";

export const check: Command = {
  summary: "checks the configuration without starting",
  details:
    "Prints every mistake with its line and exits with 1, or prints ok and exits with 0.\nEnvironment variables in the file must be set as for serve. Files of models that are not there,\nfolders that can't be written to and packages that are not installed are warnings: that may\nchange before the start.",
  options: configOptions,
  async run(given) {
    const { config, file, warnings } = await loadConfig({
      file: given.text("config"),
      listen: given.texts("listen"),
    });
    const found = [...missingFiles(config), ...(await startProblems(config))];
    for (const warning of [...warnings, ...found]) say(`warning: ${warning}`);
    out(`${file ?? "no file, defaults"}: ok`);
    return 0;
  },
};
