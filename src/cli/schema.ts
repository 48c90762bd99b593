/** `lintel schema`: the configuration's JSON Schema. */
import { configJsonSchema } from "../config/json-schema.js";
import type { Command } from "./command.js";
import { out } from "./output.js";

export const schema: Command = {
  summary: "prints the JSON Schema of lintel.yaml",
  details:
    "Editors use it through a first line in lintel.yaml:\n  # yaml-language-server: $schema=./lintel.schema.json",
  options: {},
  async run() {
    out(JSON.stringify(configJsonSchema(), null, 2));
    return 0;
  },
};
