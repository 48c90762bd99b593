/** What a node leaves to the gateways in front of it. */
import type { Bounds } from "./core/settings.js";

/** The greatest int32, which no operator's bound is above. */
const greatest = 2 ** 31 - 1;

/** The least side of a picture, pixels: sides are multiples of it. */
const leastSide = 8;

/** Any number, in either direction. */
const any = { min: -Number.MAX_VALUE, max: Number.MAX_VALUE };

/** Most images of a prompt on a port: all of them are in memory until the last one is made. */
const mostImages = 100;

/**
 * The bounds of a node's requests. A gateway has held them to its operator's, which may be wider
 * than the contract's; so a node bounds only what takes memory, the sides of pictures and their
 * number, and that only where others than its own gateway may call.
 * @param guarded whether only those call who may open the node's Unix socket
 */
export function nodeBounds(guarded: boolean): Bounds {
  const side = { min: leastSide, ...(guarded && { max: greatest }) };
  return {
    temperature: { max: Number.MAX_VALUE },
    frequency_penalty: any,
    presence_penalty: any,
    repetition_penalty: { max: Number.MAX_VALUE },
    logit_bias: { max: greatest },
    width: side,
    height: side,
    guidance_scale: { max: Number.MAX_VALUE },
    num_inference_steps: { max: greatest },
    num_images_per_prompt: { max: guarded ? greatest : mostImages },
    loras: { max: greatest },
  };
}
