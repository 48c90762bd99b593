/**
 * What services take on `/v1/images/generations`, whoever's models they sell, as their references have
 * it. What they have no field for they pass over in silence: it is not sent.
 */
import type { ImageProfile } from "./profile.js";

/** Ideogram, ByteDance and Alibaba know no greater seeds, wherever their models are sold. */
const lastInt32 = 2 ** 31 - 1;
/** All seeds but 0. */
const lastUint32 = 2 ** 32 - 1;

/** Sizes of dall-e-3. */
const wide = ["1792x1024", "1024x1792"];

const steps = "num_inference_steps";
const guidance = "guidance_scale";
const negative = "negative_prompt";

/** No more than OpenAI's own form has. */
const plain = {
  ...{ tuning: [], seed: false, most: 1, responseFormat: "b64_json", outputFormat: false },
  ...{ previews: false, bar: true },
} as const satisfies Omit<ImageProfile, "server">;

/** A diffusion model, and all that there is to it. */
const diffusion = { ...plain, seed: true, tuning: [negative, guidance, steps] } as const;

const usual = {
  // Its models take sizes in words of their own.
  openrouter: {
    ...plain,
    ...{ path: "/images", sized: false, responseFormat: undefined, outputFormat: true },
  },
  together: {
    ...diffusion,
    ...{ sides: true, lastSeed: lastInt32, responseFormat: "base64", outputFormat: true },
    names: { num_inference_steps: "steps" },
  },
  nebius: {
    ...diffusion,
    ...{ sides: true, outputFormat: true, names: { output_format: "response_extension" } },
  },
  siliconflow: {
    ...diffusion,
    ...{ tuning: [negative, steps], lastSeed: lastUint32, responseFormat: undefined },
    names: { size: "image_size" },
  },
  recraft: {
    ...plain,
    ...{ seed: true, side: 1024, outputFormat: true },
    names: { seed: "random_seed", output_format: "image_format" },
  },
  deepinfra: plain,
  google: plain,
  // It has shapes, and no sizes.
  xai: { ...plain, sized: false, most: 10 },
  zai: { ...plain, side: 1024, step: 16, responseFormat: undefined },
  venice: {
    ...plain,
    ...{ side: 1024, outputFormat: true },
    sizes: ["256x256", "512x512", "1024x1024", "1536x1024", "1024x1536", ...wide],
  },
  infomaniak: {
    ...plain,
    ...{ side: 1024, most: 5, sizes: ["1024x1024", ...wide] },
  },
} as const satisfies Record<string, Omit<ImageProfile, "server">>;

/** A service that is known. */
export type Service = keyof typeof usual;

/** Models that take something else than most of their service: the first that matches. */
const byModel: Partial<Record<Service, readonly (readonly [RegExp, Partial<ImageProfile>])[]>> = {
  together: [
    [/^(?:openai|google)\//i, { seed: false, side: 1024, tuning: [] }],
    [/flux\.2-(?:dev|flex)/i, { tuning: [guidance, steps] }],
    [/flux\.2/i, { tuning: [] }],
    [/kontext/i, { tuning: [steps] }],
    [/flux\.1\.1/i, { tuning: [negative, steps] }],
  ],
  siliconflow: [[/kolors/i, { tuning: [negative, guidance, steps] }]],
  recraft: [
    [/v[23]/i, { tuning: [negative] }],
    [/_pro/i, { side: 2048 }],
  ],
  google: [[/imagen/i, { most: 4 }]],
  zai: [[/glm-image/i, { side: 1280, step: 32 }]],
};

/** Where images are that a service does not answer inline. */
const hosts: Partial<Record<Service, readonly string[]>> = {
  siliconflow: [
    ...["*.siliconflow.cn", "*.siliconflow.com", "sc-maas.oss-cn-shanghai.aliyuncs.com"],
  ],
  zai: ["*.z.ai", "*.bigmodel.cn"],
};

/** The hosts of a server's images, besides its own. */
export const hostsOf = (server: string): readonly string[] =>
  (isService(server) && hosts[server]) || [];

/** Whether a server is a service. */
export const isService = (server: string): server is Service => Object.hasOwn(usual, server);

/** What a model at a service takes. */
export function serviceProfile(model: string, server: Service): ImageProfile {
  const own = byModel[server]?.find(([name]) => name.test(model))?.[1];
  return { ...usual[server], ...own, server };
}
