/** The client of a bucket: the packages that it needs, its settings, and whether it reaches the bucket. */
import type { S3Client } from "@aws-sdk/client-s3";
import { type Logger, reasonOf } from "../core/log.js";
import { type Clock, systemClock } from "../core/routing/clock.js";
import { BucketError } from "./bucket.js";

/** Which bucket, and how it is reached. */
export interface BucketSettings {
  readonly bucket: string;
  /** What names of objects begin with, for example `lintel/`. */
  readonly prefix: string;
  /** Address of the store; absent: Amazon's, by the region. */
  readonly endpoint?: string | undefined;
  /** Absent: from the environment. */
  readonly region?: string | undefined;
  /** How long each attempt of a request may take, milliseconds. Default: 5000, 20000. */
  readonly patience?: { readonly connectMs: number; readonly answerMs: number } | undefined;
  /** Of the start, and of the watch over the bucket. Default: the process's. */
  readonly clock?: Clock | undefined;
  /** Whether the bucket stands in the path instead of the host's name. */
  readonly pathStyle: boolean;
  /** Absent: from the environment, the shared files, or the machine's role. */
  readonly credentials?:
    | { readonly accessKeyId: string; readonly secretAccessKey: string }
    | undefined;
  readonly log: Logger;
}

/** How long a connection, and an answer or silence within one, may take, milliseconds. */
const patience = { connectMs: 5000, answerMs: 20_000 };

/** How long a start waits for the bucket without a word, milliseconds. */
const quietMs = 5000;

const install = "npm install @aws-sdk/client-s3 @aws-sdk/s3-request-presigner";

/** The packages. */
export type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/**
 * Loads the packages.
 * @throws Error that says what to install
 */
export async function loadSdk() {
  try {
    const [s3, presigner] = await Promise.all([
      import("@aws-sdk/client-s3"),
      import("@aws-sdk/s3-request-presigner"),
    ]);
    return { ...s3, getSignedUrl: presigner.getSignedUrl };
  } catch (cause) {
    throw new Error(`media.store: s3 needs a package that is not installed: ${install}`, { cause });
  }
}

/**
 * Makes a client, and waits until it has reached the bucket.
 * @throws Error if the packages are not installed, or the bucket can't be reached
 */
export async function openBucket(
  settings: BucketSettings,
): Promise<{ readonly client: S3Client; readonly sdk: Sdk }> {
  const sdk = await loadSdk();
  const { connectMs, answerMs } = settings.patience ?? patience;
  const client = new sdk.S3Client({
    // Without these, a store that drops what is sent to it is waited for without end.
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      throwOnRequestTimeout: true,
      socketTimeout: answerMs,
    },
    forcePathStyle: settings.pathStyle,
    // Checksums in trailers are newer than many stores.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(settings.endpoint !== undefined && { endpoint: settings.endpoint }),
    ...(settings.region !== undefined && { region: settings.region }),
    ...(settings.credentials && { credentials: settings.credentials }),
  });
  const { bucket, log, clock = systemClock } = settings;
  const waits = clock.after(quietMs, () =>
    log.warn({ store: "images", bucket }, "the start waits for the bucket of images"),
  );
  try {
    await look(client, sdk, settings);
  } catch (thrown) {
    client.destroy();
    const cause = new BucketError(thrown, settings.endpoint?.startsWith("http:"));
    throw new Error(`media.s3.bucket: ${bucket} can't be used (${reasonOf(cause)})`, { cause });
  } finally {
    waits.cancel();
  }
  return { client, sdk };
}

/** Asks for one object. Not by HEAD: what is wrong is said in a body. */
export const look = (client: S3Client, sdk: Sdk, { bucket, prefix }: BucketSettings) =>
  client.send(new sdk.ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 }));
