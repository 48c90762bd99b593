/** Images that nobody looks at, where harmful ones are to be blurred or blocked. */
import { embeddedEntry } from "./backends.js";
import { mayMakeImages } from "./media-warnings.js";
import type { BackendConfig, Config } from "./schema.js";

/** Kinds of backends whose models may check their images themselves, which they say when they run. */
const checking: ReadonlySet<BackendConfig["type"]> = new Set(["embedded", "onnx", "node", "rest"]);

/** Whether harmful images are to be withheld, and only models that check their own can tell which. */
export const modelsMustCheck = ({ safety }: Config): boolean =>
  safety.action !== "flag" && safety.checker === undefined;

/** Names of backends that may make images, and surely check none. */
export function unchecked({ backends = [embeddedEntry] }: Config): string[] {
  return backends
    .filter((backend) => {
      // Those that Lintel brings have no check.
      const own = backend.type === "embedded" && backend.models === undefined;
      return mayMakeImages(backend) && (own || !checking.has(backend.type));
    })
    .map(({ name }) => name);
}

/** A line where nobody checks what backends make. */
export function safetyWarnings(config: Config): string[] {
  const names = modelsMustCheck(config) ? unchecked(config) : [];
  if (names.length === 0) return [];
  const many = names.length > 1 ? "s" : "";
  return [
    `safety.action is ${config.safety.action}, and there is no safety.checker: nobody looks at images of the backend${many} ${names.map((name) => JSON.stringify(name)).join(", ")}`,
  ];
}
