/** Opens the store for images that the configuration describes. */
import type { MediaConfig } from "../config/media.js";
import type { Logger } from "../core/log.js";
import type { MediaStore } from "../core/media.js";
import { filesystemMedia } from "./filesystem.js";
import { inlineMedia } from "./inline.js";

/** What every address of the gateway begins with, known once it listens. */
type BaseUrl = () => string;

/** Where images are kept: in the answers alone, in a folder of this machine, or in a bucket. */
export const placeOf = ({ delivery, store, s3 }: MediaConfig): "answers" | "folder" | "bucket" =>
  delivery === "data" ? "answers" : store === "s3" && s3 ? "bucket" : "folder";

/**
 * @throws Error if the folder can't be written to, the bucket can't be reached,
 *   or a package is not installed
 */
export async function openMedia(
  config: MediaConfig,
  baseUrl: BaseUrl,
  log: Logger,
): Promise<MediaStore> {
  const { directory, ttl: ttlMs, max_bytes: maxBytes, s3 } = config;
  const place = placeOf(config);
  if (place === "answers") return inlineMedia();
  if (place === "folder" || !s3) {
    return filesystemMedia({ directory, ttlMs, maxBytes, baseUrl, log });
  }
  const { s3Media } = await import("./s3.js");
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, endpoint } = s3;
  return s3Media({
    bucket: s3.bucket,
    prefix: s3.prefix,
    endpoint,
    region: s3.region ?? (endpoint === undefined ? undefined : "us-east-1"),
    pathStyle: s3.path_style ?? endpoint !== undefined,
    credentials:
      accessKeyId === undefined || secretAccessKey === undefined
        ? undefined
        : { accessKeyId, secretAccessKey },
    address: addressOf(s3, baseUrl),
    ttlMs,
    maxBytes,
    // A listing of a bucket is a request for each thousand objects.
    sweepMs: 600_000,
    log,
  });
}

function addressOf({ address, public_url }: NonNullable<MediaConfig["s3"]>, baseUrl: BaseUrl) {
  switch (address) {
    case "gateway":
      return { by: "gateway", baseUrl } as const;
    case "public":
      return { by: "public", baseUrl: public_url ?? "" } as const;
    case "presigned":
      return { by: "presigned" } as const;
  }
}
