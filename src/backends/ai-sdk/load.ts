/** Loads a provider of the AI SDK, which the operator installs. */
import type { ImageModelV3, LanguageModelV3, ProviderV3 } from "@ai-sdk/provider";
import { LintelError } from "../../core/errors.js";
import { importInstalled, isMissing, packageOf } from "../../installed.js";
import { chatPackage } from "./chat-packages.js";
import { failureOf, lacksCredentials } from "./failure.js";
import type { AiSdkConfig, AiSdkModel } from "./schema.js";

/** A function that makes a provider. */
type Create = (options: Readonly<Record<string, unknown>>) => ProviderV3;

/** `fetch`, as providers take it. */
export type Fetch = typeof globalThis.fetch;

/** A model, ready to be called. */
export type Loaded =
  | { readonly task: "chat"; readonly model: LanguageModelV3 }
  | { readonly task: "image"; readonly model: ImageModelV3 };

/** The versions of the interface that are spoken here; what is different in v4 stands at {@link isV4}. */
const versions: ReadonlySet<string> = new Set(["v3", "v4"]);

/**
 * Whether a model's interface is that of AI SDK 7, which has a word for how much is thought, and is told of a
 * file's data whether they are an address.
 */
export const isV4 = ({ specificationVersion }: LanguageModelV3): boolean =>
  (specificationVersion as string) !== "v3";

/**
 * Imports the provider's package and makes the provider.
 * @throws LintelError `unavailable` that says what to install or to change
 */
export async function loadProvider(config: AiSdkConfig, fetch: Fetch): Promise<ProviderV3> {
  const create = creatorIn(await importPackage(config.package), config);
  try {
    return create({ ...chatPackage(config.package).options, ...config.options, fetch });
  } catch (cause) {
    throw unusable(`${config.package} does not take these options`, cause);
  }
}

/**
 * A model of the provider.
 * @throws LintelError `unavailable` if it has no such models, or speaks another version
 */
export function loadModel(provider: ProviderV3, { id, task }: AiSdkModel): Loaded {
  const loaded = modelOf(provider, id, task);
  if (versions.has(loaded.model.specificationVersion)) return loaded;
  throw unusable(
    `this version of the provider speaks ${loaded.model.specificationVersion} of the AI SDK's interface, not v3 or v4: update it`,
  );
}

function modelOf(provider: ProviderV3, id: string, task: AiSdkModel["task"]): Loaded {
  try {
    return task === "chat"
      ? { task, model: provider.languageModel(id) }
      : { task, model: provider.imageModel(id) };
  } catch (cause) {
    if (lacksCredentials(cause)) throw failureOf(cause);
    throw unusable(
      task === "chat"
        ? "the provider has no such chat model"
        : "the provider has no such image model",
      cause,
    );
  }
}

async function importPackage(name: string): Promise<Record<string, unknown>> {
  try {
    return await importInstalled(name);
  } catch (cause) {
    if (!isMissing(name, cause)) throw unusable(`the package ${name} can't be loaded`, cause);
    throw unusable(`the package ${name} is not installed: npm install ${packageOf(name)}`, cause);
  }
}

function creatorIn(module: Record<string, unknown>, config: AiSdkConfig): Create {
  const names = Object.keys(module).filter(
    (name) => /^create[A-Z]/.test(name) && typeof module[name] === "function",
  );
  // Packages that were renamed export one function by both names.
  const alone = new Set(names.map((name) => module[name])).size === 1;
  const wanted = config.export ?? (alone ? names[0] : undefined);
  const create = wanted === undefined ? undefined : module[wanted];
  if (typeof create === "function") return create as Create;
  if (config.export !== undefined) {
    throw unusable(`the package ${config.package} has no function ${config.export}`);
  }
  throw unusable(
    names.length === 0
      ? `the package ${config.package} is no provider of the AI SDK: it has no create function`
      : `the package ${config.package} has several create functions: set export to one of ${names.join(", ")}`,
  );
}

// Until a restart it helps nobody to ask again.
const unusable = (message: string, cause?: unknown) =>
  new LintelError("unavailable", message, { cause, retry: "elsewhere" });
