/** What the names in a LoRA file mean: which module of which part, and which factor. */

/** A part of the model, by the name of its folder. */
export type Part = "unet" | "text_encoder" | "text_encoder_2";

/** What a tensor is of its module's LoRA. */
export type Role = "down" | "up" | "alpha";

/** A name, understood. */
export interface TensorName {
  readonly part: Part;
  /** The module; in kohya's naming with `_` between its levels. */
  readonly module: string;
  readonly flat: boolean;
  readonly role: Role;
}

const kohyaParts: Readonly<Record<string, Part>> = {
  lora_unet: "unet",
  lora_te: "text_encoder",
  lora_te1: "text_encoder",
  lora_te2: "text_encoder_2",
};

const kohya = /^(lora_unet|lora_te[12]?)_(.+)\.(lora_down\.weight|lora_up\.weight|alpha)$/;

/** Endings of diffusers' names, newer and older. */
const endings: readonly (readonly [RegExp, Role])[] = [
  [/\.(?:lora_A(?:\.default)?|lora\.down|lora_linear_layer\.down)\.weight$/, "down"],
  [/\.(?:lora_B(?:\.default)?|lora\.up|lora_linear_layer\.up)\.weight$/, "up"],
  [/\.alpha$/, "alpha"],
];

/** Diffusers' oldest naming puts the projection before the ending. */
const processors = /\.(?:processor\.)?to_(q|k|v|out)_lora\.(down|up)\.weight$/;

/** Kinds of adapters that are something else than the product of two factors. */
const foreign: readonly (readonly [RegExp, string])[] = [
  [/dora_scale|lora_magnitude_vector/, "DoRA"],
  [/hada_w/, "LoHa"],
  [/lokr_w/, "LoKr"],
  [/lora_mid/, "LoRA in Tucker's form"],
  [/lora_B\.bias$/, "LoRA with biases"],
];

/** The name of the kind of adapter that a tensor belongs to, if that is not supported. */
export const foreignKind = (key: string): string | undefined =>
  foreign.find(([pattern]) => pattern.test(key))?.[1];

/** Reads a tensor's name; `undefined` if it is none of a LoRA. */
export function nameOf(key: string): TensorName | undefined {
  const flat = kohya.exec(key);
  if (flat) {
    const [, prefix = "", module = "", ending = ""] = flat;
    const role = ending === "alpha" ? "alpha" : ending.startsWith("lora_down") ? "down" : "up";
    return { part: kohyaParts[prefix] as Part, module, flat: true, role };
  }
  const { part, rest } = partOf(key.replace(/^base_model\.model\./, ""));
  const old = processors.exec(rest);
  if (old) {
    const [ending, projection = "", role] = old;
    const names = part === "unet" ? unetProjections : textProjections;
    const module = `${rest.slice(0, -ending.length)}.${names[projection as keyof typeof names]}`;
    return { part, module, flat: false, role: role as Role };
  }
  for (const [pattern, role] of endings) {
    if (!pattern.test(rest)) continue;
    return { part, module: rest.replace(pattern, ""), flat: false, role };
  }
  return undefined;
}

const unetProjections = { q: "to_q", k: "to_k", v: "to_v", out: "to_out.0" };
const textProjections = { q: "q_proj", k: "k_proj", v: "v_proj", out: "out_proj" };

function partOf(key: string): { part: Part; rest: string } {
  for (const part of ["unet", "text_encoder", "text_encoder_2"] as const) {
    if (key.startsWith(`${part}.`)) return { part, rest: key.slice(part.length + 1) };
  }
  // Files that were saved from a UNet alone.
  return { part: "unet", rest: key };
}

/** Kohya's form of a module's name. */
export const flatten = (module: string): string => module.replaceAll(".", "_");

/**
 * LoRAs for SDXL mostly have the modules' names of Stability's own code.
 * @param module in kohya's form
 * @param layers resnets of each block of the UNet
 * @returns diffusers' name in kohya's form
 */
export function fromStability(module: string, layers: number): string {
  for (const [theirs, ours] of singles) if (module === theirs) return ours;
  const found = /^(input|middle|output)_blocks?_(\d+)_(?:(\d+)_)?(.+)$/.exec(module);
  if (!found) return module;
  const [, where, number, , rest = ""] = found;
  const inner = Number(found[3] ?? 0);
  const index = Number(number);
  const block = Math.floor((where === "input" ? index - 1 : index) / (layers + 1));
  const layer = (where === "input" ? index - 1 : index) % (layers + 1);
  if (where === "middle") {
    const parts = ["mid_block_resnets_0", "mid_block_attentions_0", "mid_block_resnets_1"];
    // Here the second number belongs to the module already.
    const name = found[3] === undefined ? rest : `${found[3]}_${rest}`;
    return `${parts[index]}_${resnet(name)}`;
  }
  if (where === "input") {
    if (rest === "op") return `down_blocks_${block}_downsamplers_0_conv`;
    const kind = inner === 0 ? "resnets" : "attentions";
    return `down_blocks_${block}_${kind}_${layer}_${resnet(rest)}`;
  }
  if (inner === 2 || rest === "conv") return `up_blocks_${block}_upsamplers_0_${rest}`;
  const kind = inner === 0 ? "resnets" : "attentions";
  return `up_blocks_${block}_${kind}_${layer}_${resnet(rest)}`;
}

const singles = [
  ["input_blocks_0_0", "conv_in"],
  ["out_2", "conv_out"],
  ["time_embed_0", "time_embedding_linear_1"],
  ["time_embed_2", "time_embedding_linear_2"],
  ["label_emb_0_0", "add_embedding_linear_1"],
  ["label_emb_0_2", "add_embedding_linear_2"],
] as const;

const resnetNames: Readonly<Record<string, string>> = {
  in_layers_2: "conv1",
  out_layers_3: "conv2",
  emb_layers_1: "time_emb_proj",
  skip_connection: "conv_shortcut",
};

const resnet = (name: string) => resnetNames[name] ?? name;
