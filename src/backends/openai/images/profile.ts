/**
 * What the servers of `/v1/images/generations` take, as OpenAI's reference and
 * the sources of vLLM-Omni, SGLang, Ollama, LocalAI and stable-diffusion.cpp have it.
 */
import { isService, type Service, serviceProfile } from "./services.js";

/** Those of OpenAI, and those that anybody runs. */
type Server = "openai" | "vllm" | "sglang" | "ollama" | "localai" | "sdcpp" | "unknown";

/** Which server reads the request. */
export type ImageServer = Server | Service;

/** Fields that not every server has the same name for. */
export type Named = "size" | "seed" | "num_inference_steps" | "output_format";

/** What one image model takes. */
export interface ImageProfile {
  readonly server: ImageServer;
  /** Where images are asked for; absent: where OpenAI has it. */
  readonly path?: string;
  /** Request fields of the contract that it honours, besides size and number. */
  readonly tuning: readonly string[];
  /** Whether it draws the same picture for the same seed. */
  readonly seed: boolean;
  /** Its seeds are 1 to this; absent: it knows the contract's. */
  readonly lastSeed?: number;
  /** Most images of one request, where it takes no seed. */
  readonly most: number;
  /** What it calls fields that have other names there. */
  readonly names?: Readonly<Partial<Record<Named, string>>>;
  /** Whether width and height are fields of their own; else a size is one, `1024x576`. */
  readonly sides?: boolean;
  /** False: it has sizes of its own, and no field for others. */
  readonly sized?: boolean;
  /** Sizes that it makes, `1024x1024`; absent: see `step`. */
  readonly sizes?: readonly string[];
  /** Number that width and height must be multiples of. */
  readonly step?: number;
  /** Longest side divided by the shortest. */
  readonly ratio?: number;
  /** Width and height, in pixels, where a request says nothing; absent: the contract's. */
  readonly side?: number;
  /** How it is told to answer in base64; absent: it is not, for it has one way to answer. */
  readonly responseFormat?: "b64_json" | "base64" | undefined;
  /** Whether it is told to make PNG. */
  readonly outputFormat: boolean;
  /** Whether it streams partial images. */
  readonly previews: boolean;
  /** Whether a `|` may be in a prompt; LocalAI takes what follows it for the negative prompt. */
  readonly bar: boolean;
}

const openai = {
  server: "openai",
  tuning: [],
  seed: false,
  side: 1024,
  outputFormat: true,
  previews: true,
  bar: true,
} as const satisfies Partial<ImageProfile>;

/** OpenAI's models, by their names, on whatever server: the first that matches. */
const byName: readonly (readonly [RegExp, ImageProfile])[] = [
  [
    /dall-e-2/i,
    {
      ...openai,
      ...{ most: 10, sizes: ["256x256", "512x512", "1024x1024"] },
      ...{ responseFormat: "b64_json", outputFormat: false, previews: false },
    },
  ],
  [
    /dall-e-3/i,
    {
      ...openai,
      ...{ most: 1, sizes: ["1024x1024", "1792x1024", "1024x1792"] },
      ...{ responseFormat: "b64_json", outputFormat: false, previews: false },
    },
  ],
  [/gpt-image-1|chatgpt-image/i, { ...openai, most: 10, sizes: squarish() }],
  [/gpt-image/i, { ...openai, most: 10, step: 16, ratio: 3 }],
];

function squarish(): string[] {
  return ["1024x1024", "1536x1024", "1024x1536"];
}

/** LocalAI reads seeds as int32, and draws anything for 0 and below. */
const lastInt32 = 2 ** 31 - 1;

const diffusion: ImageProfile = {
  server: "unknown",
  tuning: ["negative_prompt", "guidance_scale", "num_inference_steps"],
  seed: true,
  most: 1,
  responseFormat: "b64_json",
  outputFormat: true,
  previews: false,
  bar: false,
};

const byServer: Readonly<Record<Server, ImageProfile>> = {
  openai: { ...openai, most: 10 },
  vllm: { ...diffusion, server: "vllm", bar: true },
  // Its own default is JPEG.
  sglang: { ...diffusion, server: "sglang", bar: true },
  // Besides the seed, what tunes is no field of its OpenAI's form: it would be passed over in silence.
  ollama: { ...diffusion, server: "ollama", tuning: [], outputFormat: false, bar: true },
  localai: {
    ...diffusion,
    server: "localai",
    lastSeed: lastInt32,
    // Its one way to a negative prompt is a bar in the prompt.
    tuning: ["num_inference_steps"],
    names: { num_inference_steps: "step" },
    outputFormat: false,
  },
  sdcpp: { ...diffusion, server: "sdcpp", responseFormat: undefined, bar: true },
  // It may be LocalAI, which does not say what it is: so no bar, and its seeds.
  unknown: { ...diffusion, lastSeed: lastInt32 },
};

/** What a model on a server takes. */
export function profileOf(model: string, server: ImageServer): ImageProfile {
  // Whose models these are is no matter there.
  if (isService(server)) return serviceProfile(model, server);
  return byName.find(([name]) => name.test(model))?.[1] ?? byServer[server];
}

/** Fields of image requests that a model honours, by their names. */
export function supportedBy({ tuning, seed, previews, sized = true }: ImageProfile): string[] {
  const always = [...(sized ? ["width", "height"] : []), "num_images_per_prompt"];
  const some = [...(seed ? ["seed"] : []), ...(previews ? ["include_previews"] : [])];
  return [...always, ...some, ...tuning];
}

/** What image models are called that servers list beside the ones that chat. */
const names =
  /dall-e|gpt-image|stable-?diffusion|(?:^|[-/_:])(?:sdxl|sd-?xl|sd-?[123](?:\.\d)?|flux|sana|pixart|kolors|hidream|lumina|dreamshaper|sd-cpp|z-image|imagen|seedream|cogview|recraft(?:v\d)?|ideogram|kandinsky|stable-image|(?:qwen|glm|hunyuan|longcat|ovis|omni|chatgpt|grok-\d|grok-imagine)-?image)(?![a-z])/i;

/** Whether a model is about images, as far as its name tells; those that write prompts for one chat. */
export const isOfImages = (id: string): boolean => names.test(id) && !/prompt/i.test(id);

/** Whether a model draws, as far as its name tells; those that only change pictures do not. */
export const draws = (id: string): boolean => isOfImages(id) && !/edit|inpaint|img2img/i.test(id);
