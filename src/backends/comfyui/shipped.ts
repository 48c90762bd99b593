/** The workflows that come with Lintel. */
import { readFileSync } from "node:fs";
import type { InputMap } from "./schema.js";
import { readWorkflow, type Workflow } from "./workflow.js";

/** A workflow with its map. */
export interface MappedWorkflow {
  readonly workflow: Workflow;
  readonly map: InputMap;
}

const common = {
  checkpoint: ["1.ckpt_name"],
  guidance_scale: ["5.cfg"],
  num_inference_steps: ["5.steps"],
  seed: ["5.seed"],
  loras: "1",
};

const maps: Readonly<Record<"sd" | "sdxl", InputMap>> = {
  sd: {
    ...common,
    prompt: ["2.text"],
    negative_prompt: ["3.text"],
    width: ["4.width"],
    height: ["4.height"],
  },
  sdxl: {
    ...common,
    prompt: ["2.text_g", "2.text_l"],
    negative_prompt: ["3.text_g", "3.text_l"],
    width: ["4.width", ...sides("width")],
    height: ["4.height", ...sides("height")],
  },
};

/** SDXL is told the size beside the words. */
function sides(side: string): string[] {
  return ["2", "3"].flatMap((node) => [`${node}.${side}`, `${node}.target_${side}`]);
}

/**
 * One of the workflows that come with Lintel.
 * @param sampling the sampler and its scheduler, where they differ from the workflow's
 */
export function shippedWorkflow(
  name: "sd" | "sdxl",
  sampling: { readonly sampler?: string | undefined; readonly scheduler?: string | undefined },
): MappedWorkflow {
  const map = maps[name];
  const workflow = readWorkflow(
    readFileSync(new URL(`./workflows/${name}.json`, import.meta.url), "utf8"),
    map,
  );
  if (typeof workflow === "string") throw new Error(`${name}.json ${workflow}`);
  const inputs = workflow["5"]?.inputs ?? {};
  if (sampling.sampler) inputs.sampler_name = sampling.sampler;
  if (sampling.scheduler) inputs.scheduler = sampling.scheduler;
  return { workflow, map };
}

/** Which workflow a checkpoint needs, as far as its name tells. */
export const workflowFor = (checkpoint: string): "sd" | "sdxl" =>
  /xl|pony|illustrious|noob/i.test(checkpoint) ? "sdxl" : "sd";
