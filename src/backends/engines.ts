/** The engines of models on this machine: optional packages, which a lean installation leaves out. */
import { fileURLToPath } from "node:url";
import { isInstalled } from "../installed.js";
import { enginePackages } from "./onnx/protocol.js";

/** The packages of each engine as npm knows them. */
const packages = {
  llama: ["node-llama-cpp", "@huggingface/jinja"],
  onnx: Object.values(enginePackages),
} as const;

/** What runs models on this machine. */
export type Engine = keyof typeof packages;

const here = fileURLToPath(new URL(".", import.meta.url));

/** Packages that an engine needs and that are not installed beside Lintel. Loads nothing. */
export const lackOf = (engine: Engine): string[] =>
  packages[engine].filter((name) => !isInstalled(name, here));

/** How to come by the engines. */
export const engineHint =
  "npm install, or npm ci, without --omit=optional brings them; in a container's image, --build-arg ENGINES=1";
