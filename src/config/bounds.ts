/** What the operator allows in requests. */
import * as z from "zod";

/** The bounds of a field, in the numbers that it can have: a default outside is moved to one of them. */
const leastAndGreatest = (number: () => z.ZodNumber) =>
  z.strictObject({
    min: number().optional().describe("Least value that is allowed."),
    max: number().optional().describe("Greatest value that is allowed."),
  });

const bound = (what: string, number: () => z.ZodNumber = z.number) =>
  leastAndGreatest(number)
    .optional()
    .describe(`${what} Replaces the contract's bounds; both ends are allowed.`);

const most = (what: string) =>
  leastAndGreatest(z.int32)
    .omit({ min: true })
    .optional()
    .describe(`${what} Replaces the contract's bound, and is itself allowed.`);

/** The operator's bounds, in place of the contract's. */
export const boundsSchema = z.strictObject({
  temperature: bound("Contract: 0 to 2."),
  top_p: bound("Contract: above 0, to 1."),
  top_k: bound("Contract: -1 or more.", z.int32),
  max_tokens: bound("Contract: 1 or more, under the model's cap.", z.int32),
  frequency_penalty: bound("Contract: -2 to 2."),
  presence_penalty: bound("Contract: -2 to 2."),
  repetition_penalty: bound("Contract: above 0, to 2."),
  min_p: bound("Contract: 0 to 1."),
  top_logprobs: most("Likeliest tokens told at each place of an answer. Contract: at most 20."),
  logit_bias: most("Tokens whose likelihood one request changes. Contract: at most 1024."),
  messages: bound("Number of messages. Contract: 1 or more.", z.int32),
  width: bound("Pixels. Contract: 64 to 2048.", z.int32),
  height: bound("Pixels. Contract: 64 to 2048.", z.int32),
  guidance_scale: bound("Contract: 0 to 30."),
  num_inference_steps: bound("Contract: 1 to 150.", z.int32),
  num_images_per_prompt: bound("Contract: 1 to 8.", z.int32),
  prompts: most("Number of prompts in one image request. Contract: at most 4."),
  loras: most("Number of LoRAs in one image request. Contract: at most 4."),
});
