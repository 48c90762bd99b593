/** Options of `lintel chat` that say what form its answers have. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ResponseFormatSchema } from "../../gen/lintel/v1/chat_pb.js";
import { NotAFile, readRegular } from "../regular-file.js";
import { type Given, type Option, UsageError } from "./command.js";

/** The options. */
export const formOptions = {
  choice: {
    value: "TEXT",
    multiple: true,
    help: "a text that the answer may be, and nothing else; may be repeated",
  },
  regex: { value: "EXPRESSION", help: "what all of the answer has to match" },
  grammar: { value: "FILE", help: "a grammar that the answer keeps to" },
  schema: { value: "FILE", help: "a JSON schema that the answer fits" },
} as const satisfies Record<string, Option>;

/** The form that is asked for; `undefined`: none. @throws UsageError */
export function formOf(given: Given): MessageInitShape<typeof ResponseFormatSchema> | undefined {
  const [name, other] = Object.keys(formOptions).filter((option) => given.has(option));
  if (other !== undefined) throw new UsageError(`--${name} and --${other} are two forms: say one`);
  switch (name) {
    case "choice":
      return { type: "choice", choice: [...given.texts("choice")] };
    case "regex":
      return { type: "regex", regex: given.text("regex") ?? "" };
    case "grammar":
      return { type: "grammar", grammar: textIn(given, "grammar") };
    case "schema":
      return {
        type: "json_schema",
        jsonSchema: { name: "answer", schema: textIn(given, "schema") },
      };
    default:
      return undefined;
  }
}

function textIn(given: Given, option: string): string {
  const path = given.text(option) ?? "";
  try {
    return readRegular(path).toString("utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = error instanceof NotAFile ? error.message : `it can't be read (${code})`;
    throw new UsageError(`--${option} ${path}: ${why}`);
  }
}
