/** Where generated images are kept. */
import * as z from "zod";
import { path } from "./fields.js";
import { httpUrl } from "./http-fields.js";
import { period, size } from "./quantities.js";

const s3 = z
  .strictObject({
    bucket: z.string().min(1).describe("Name of the bucket; it must exist."),
    prefix: z.string().default("lintel/").describe("What the names of objects begin with."),
    endpoint: httpUrl
      .optional()
      .describe("Address of the store. Default: Amazon's, by the region."),
    region: z
      .string()
      .min(1)
      .optional()
      .describe("Default: AWS_REGION, or us-east-1 where endpoint is set."),
    path_style: z
      .boolean()
      .optional()
      .describe(
        "Whether the bucket stands in the path instead of the host's name. Default: true where endpoint is set.",
      ),
    access_key_id: z
      .string()
      .min(1)
      .optional()
      .describe("Default: as the AWS SDK finds it: environment, shared files, the machine's role."),
    secret_access_key: z
      .string()
      .min(1)
      .optional()
      .describe("Goes with access_key_id; best taken from the environment."),
    address: z
      .enum(["presigned", "public", "gateway"])
      .default("presigned")
      .describe(
        "How callers reach an image: by a signed address (for at most 7 days), by a public one under public_url, or through the gateway.",
      ),
    public_url: httpUrl
      .optional()
      .describe("Address of the bucket for the public; only for address: public."),
  })
  .refine((it) => (it.access_key_id === undefined) === (it.secret_access_key === undefined), {
    path: ["secret_access_key"],
    error: "must be there exactly where access_key_id is",
  })
  .refine((it) => (it.address === "public") === (it.public_url !== undefined), {
    path: ["public_url"],
    error: "must be there exactly where address is public",
  });

/** Generated images. */
export const mediaSchema = z
  .strictObject({
    store: z
      .enum(["filesystem", "s3"])
      .default("filesystem")
      .describe("Whether images are kept in a folder of this machine, or in a bucket."),
    directory: path
      .optional()
      .describe("Folder for generated images, nothing else. Default: media in state.directory."),
    s3: s3.optional().describe("The bucket, in any store that speaks S3; for store: s3."),
    ttl: period
      .prefault("24h")
      .describe("How long an image is kept; 36500d is for ever, or until max_bytes are full."),
    max_bytes: size
      .prefault("1GiB")
      .describe(
        "Size of all images together; the oldest go first. A bucket may be above it while they are being deleted.",
      ),
    delivery: z
      .enum(["url", "data"])
      .default("url")
      .describe("Whether responses carry an address of the image, or the image in a data: URL."),
  })
  .refine((it) => it.store !== "s3" || it.s3 !== undefined, {
    path: ["s3"],
    error: "must be there where store is s3",
  });

/** The part of the configuration after defaults were filled in. */
export type MediaConfig = z.output<typeof mediaSchema>;
