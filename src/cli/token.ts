/** `lintel token create`: issues a token. */
import { createToken, hashToken } from "../core/tokens.js";
import { type Command, UsageError } from "./command.js";
import { out } from "./output.js";

/** A text as YAML reads it back, quoted where it must be. */
const yamlText = (text: string): string =>
  /^[A-Za-z][\w./:-]*\w$/.test(text) && !/^(true|false|null|yes|no|on|off)$/i.test(text)
    ? text
    : JSON.stringify(text);

export const token: Command = {
  summary: "makes a token for a caller",
  details:
    "Prints the token, once, and the lines for lintel.yaml, which hold only its hash.\nTokens count where auth.mode is token.",
  words: ["create"],
  options: {
    name: { value: "NAME", short: "n", help: "who it is for; names the caller in logs and limits" },
    models: { value: "A,B", help: "models that it may use, by name or prefix* (default: all)" },
  },
  async run(given) {
    const name = given.text("name");
    if (name === undefined) throw new UsageError("token create needs --name NAME");
    const models = given
      .text("models")
      ?.split(",")
      .map((model) => model.trim())
      .filter((model) => model !== "");
    if (models?.length === 0) throw new UsageError("--models needs at least one name");
    const secret = createToken();
    const lines = [
      secret,
      "",
      "This is the only time that it is shown. For lintel.yaml:",
      "",
      "auth:",
      "  mode: token",
      "  tokens:",
      `    - name: ${yamlText(name)}`,
      `      hash: ${hashToken(secret)}`,
    ];
    if (models) lines.push(`      models: [${models.map((m) => JSON.stringify(m)).join(", ")}]`);
    out(lines.join("\n"));
    return 0;
  },
};
