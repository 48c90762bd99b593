/** What is known of the packages of image providers besides their common interface. */

/** How an image provider takes what the common interface has no field for. */
export interface ImagePackage {
  /** Keys of its options in `providerOptions`, the former one first: it reads but one of them. */
  readonly keys: readonly string[];
  /** Options of each request: PNG where another format is the default, and more patience. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Our fields by the names of its options. */
  readonly tuning?: Readonly<Record<string, string>>;
  /** Models that it tells them. Default: all. */
  readonly tuned?: RegExp;
  /** Whether it takes a size in pixels. */
  readonly size: boolean;
  /** Width and height, in pixels, where a request says nothing; absent: the contract's. */
  readonly side?: number;
  /** Whether it takes a seed. */
  readonly seed: boolean;
  /** How many seeds it knows, where fewer than 2^32. */
  readonly seeds?: number;
  /** The seed that stands for 0, where its provider leaves that out. */
  readonly zero?: number;
  /** Hosts that its answers point to. */
  readonly hosts?: readonly string[];
}

/**
 * How long providers ask for what becomes of a job, milliseconds: their own minute is less than calls may take, and
 * these end by themselves.
 */
const patience = 86_400_000;

const steps = "num_inference_steps";
const guidance = "guidance_scale";

/** OpenAI's models know a few sizes only, the contract's 1024x576 not among them. */
const openai: ImagePackage = { keys: ["openai"], size: true, side: 1024, seed: false };

/** By package; of those that are not here the common interface is expected to do. */
const imagePackages: Readonly<Record<string, ImagePackage>> = {
  "@ai-sdk/fal": {
    keys: ["fal"],
    options: { outputFormat: "png" },
    tuning: { [guidance]: "guidanceScale", [steps]: "numInferenceSteps" },
    size: true,
    seed: true,
    hosts: ["fal.media", "*.fal.media", "*.fal.ai", "*.fal.run"],
  },
  "@ai-sdk/replicate": {
    keys: ["replicate"],
    options: { output_format: "png" },
    tuning: { [guidance]: guidance, [steps]: steps, negative_prompt: "negative_prompt" },
    size: true,
    seed: true,
    hosts: ["replicate.delivery", "*.replicate.delivery", "*.replicate.com"],
  },
  "@ai-sdk/black-forest-labs": {
    keys: ["blackForestLabs"],
    options: { outputFormat: "png", pollTimeoutMillis: patience },
    tuning: { [guidance]: "guidance", [steps]: "steps" },
    size: true,
    seed: true,
    hosts: ["*.bfl.ai"],
  },
  "@ai-sdk/amazon-bedrock": {
    keys: ["bedrock", "amazonBedrock"],
    tuning: { [guidance]: "cfgScale", negative_prompt: "negativeText" },
    size: true,
    seed: true,
    // Nova Canvas's, the lesser of the two families'.
    seeds: 858_993_460,
    zero: 858_993_460,
  },
  "@ai-sdk/openai": openai,
  "@ai-sdk/azure": openai,
  "@ai-sdk/google": { keys: ["google"], size: false, seed: false },
  "@ai-sdk/google-vertex": {
    keys: ["vertex", "googleVertex"],
    tuning: { negative_prompt: "negativePrompt" },
    tuned: /^imagen/,
    size: false,
    // Imagen takes one only where its watermark is turned off.
    seed: false,
  },
  "@ai-sdk/togetherai": {
    keys: ["togetherai"],
    tuning: { [guidance]: "guidance", [steps]: "steps", negative_prompt: "negative_prompt" },
    size: true,
    seed: true,
  },
  "@ai-sdk/xai": { keys: ["xai"], size: false, seed: false, hosts: ["*.x.ai"] },
  "@ai-sdk/luma": {
    keys: ["luma"],
    // It asks twice in a second.
    options: { maxPollAttempts: patience / 500 },
    size: false,
    seed: false,
    hosts: ["*.lumalabs.ai", "*.cdn-luma.com"],
  },
};

/** What is known of a package's images. */
export function imagePackage(name: string): ImagePackage {
  return imagePackages[name] ?? { keys: [], size: true, seed: true };
}

/** Our fields by the names of the options that a package's model is told. */
export function tuningOf(name: string, model: string): Readonly<Record<string, string>> {
  const { tuning = {}, tuned } = imagePackage(name);
  return tuned && !tuned.test(model) ? {} : tuning;
}

/** Request fields that a package's image model can honour, by their names. */
export function imageFields(name: string, model: string): string[] {
  const { size, seed } = imagePackage(name);
  return [
    ...(size ? ["width", "height"] : []),
    ...(seed ? ["seed"] : []),
    ...Object.keys(tuningOf(name, model)),
    "num_images_per_prompt",
  ];
}
