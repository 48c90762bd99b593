/** Images in a bucket of any store that speaks S3. */
import { Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { type CallSignal, nativeSignal } from "../core/cancellation.js";
import type { ErrorCode } from "../core/error-table.js";
import { LintelError } from "../core/errors.js";
import { type MediaStore, noImage, type StoredMedia } from "../core/media.js";
import { signedMs } from "./address.js";
import { BucketError } from "./bucket.js";
import { isName, newName, storedType } from "./name.js";
import { type Listed, Retention, type RetentionSettings } from "./retention.js";
import { type BucketSettings, look, openBucket, type Sdk } from "./s3-client.js";
import { StoreWatch } from "./watch.js";

/** Settings of the store. */
export interface S3Settings extends BucketSettings, RetentionSettings {
  /** How callers reach an image: a signed address, a public one, or through the gateway. */
  readonly address:
    | { readonly by: "presigned" }
    | { readonly by: "public"; readonly baseUrl: string }
    | { readonly by: "gateway"; readonly baseUrl: () => string };
}

/** A store, and its housekeeping by hand. */
export interface S3Media extends MediaStore {
  /** Removes what is too old, and then the oldest until the rest fits. */
  sweep(): Promise<void>;
}

/** How long it is tried to delete what nobody waited for, milliseconds; it goes when it is too old anyway. */
const forgetMs = 20_000;

/**
 * Opens the store.
 * @throws Error if the packages are not installed, or the bucket can't be reached
 */
export async function s3Media(settings: S3Settings): Promise<S3Media> {
  const { client, sdk } = await openBucket(settings);
  return new S3Store(client, sdk, settings);
}

class S3Store implements S3Media {
  readonly #client: S3Client;
  readonly #sdk: Sdk;
  readonly #settings: S3Settings;
  readonly #retention: Retention;
  readonly #watch: StoreWatch<BucketError>;

  constructor(client: S3Client, sdk: Sdk, settings: S3Settings) {
    this.#client = client;
    this.#sdk = sdk;
    this.#settings = settings;
    const watched = {
      place: "bucket",
      troubleOf: (thrown: unknown) => new BucketError(thrown),
      probe: () => look(client, sdk, settings),
    } as const;
    this.#watch = new StoreWatch(watched, settings.log, settings.clock);
    this.#retention = new Retention(
      {
        elastic: true,
        list: (signal) => this.#watch.ask(() => this.#list(signal)),
        delete: (name, signal) => this.#remove(name, signal),
      },
      settings,
    );
  }

  async put(data: Uint8Array, baseUrl?: string, signal?: CallSignal): Promise<string> {
    const name = newName();
    const seconds = Math.floor(this.#settings.ttlMs / 1000);
    const object = new this.#sdk.PutObjectCommand({
      ...this.#object(name),
      Body: data,
      ContentType: storedType,
      CacheControl: `private, max-age=${seconds}, immutable`,
    });
    const options = givenUpWith(signal);
    try {
      await this.#retention.store(data.byteLength, async () => {
        await this.#watch.ask(() => this.#client.send(object, options));
      });
      return await this.#url(name, baseUrl);
    } catch (cause) {
      if (signal?.aborted) {
        // It may have arrived, and only the answer not.
        this.#remove(name, AbortSignal.timeout(forgetMs)).catch(() => {});
        throw signal.reason;
      }
      throw new LintelError(codeOf(cause), "the image could not be stored", { cause });
    }
  }

  async #url(name: string, baseUrl: string | undefined): Promise<string> {
    const { address, prefix, ttlMs } = this.#settings;
    if (address.by === "public") {
      const path = prefix.split("/").map(encodeURIComponent).join("/");
      return `${address.baseUrl}/${path}${name}`;
    }
    if (address.by === "gateway") return `${baseUrl ?? address.baseUrl()}/media/${name}`;
    const expiresIn = Math.max(1, Math.floor(signedMs(ttlMs) / 1000));
    const get = new this.#sdk.GetObjectCommand(this.#object(name));
    return this.#sdk.getSignedUrl(this.#client, get, { expiresIn });
  }

  async get(name: string, signal?: CallSignal): Promise<StoredMedia | undefined> {
    if (!isName(name)) return undefined;
    const object = new this.#sdk.HeadObjectCommand(this.#object(name));
    const options = givenUpWith(signal);
    const head = await this.#watch
      .ask(() => this.#client.send(object, options).catch(ifMissing))
      .catch(unreadable);
    if (!head) return undefined;
    const storedAt = head.LastModified?.getTime() ?? 0;
    if (this.#retention.expired(storedAt)) return undefined;
    return {
      mimeType: storedType,
      size: head.ContentLength ?? 0,
      expiresAt: this.#retention.expiresAt(storedAt),
      read: (range) => Readable.from(this.#read(name, options, range)),
      close: async () => {},
    };
  }

  async *#read(
    name: string,
    options: GivenUp,
    range?: { start: number; end: number },
  ): AsyncGenerator<Uint8Array> {
    const Range = range && `bytes=${range.start}-${range.end}`;
    const object = new this.#sdk.GetObjectCommand({ ...this.#object(name), Range });
    const answer = await this.#watch
      .ask(() => this.#client.send(object, options).catch(ifMissing))
      .catch(unreadable);
    // Another gateway deleted it since its head was asked for.
    if (!answer) throw noImage();
    try {
      if (answer.Body) yield* answer.Body as Readable;
    } catch (thrown) {
      // Its end, which it has by our doing, looks as if the bucket broke off.
      const isLeft = options.abortSignal?.aborted === true;
      unreadable(isLeft ? thrown : this.#watch.failed(thrown));
    }
  }

  async delete(name: string): Promise<void> {
    if (isName(name)) await this.#remove(name);
  }

  async #remove(name: string, abortSignal?: AbortSignal): Promise<void> {
    const object = new this.#sdk.DeleteObjectCommand(this.#object(name));
    await this.#client.send(object, { abortSignal }).catch((thrown: unknown) => {
      // One that is locked says nothing of the bucket.
      throw new BucketError(thrown);
    });
  }

  get state() {
    return this.#watch;
  }

  sweep(): Promise<void> {
    return this.#retention.sweep();
  }

  async close(): Promise<void> {
    this.#watch.close();
    await this.#retention.close();
    this.#client.destroy();
  }

  /** Our objects; what else lies under the prefix is left alone. */
  async #list(abortSignal: AbortSignal): Promise<Listed[]> {
    const { bucket: Bucket, prefix: Prefix } = this.#settings;
    const images: Listed[] = [];
    const { paginateListObjectsV2 } = this.#sdk;
    const pages = paginateListObjectsV2(
      { client: this.#client },
      { Bucket, Prefix },
      { abortSignal },
    );
    for await (const { Contents = [] } of pages) {
      for (const { Key = "", Size = 0, LastModified } of Contents) {
        const name = Key.slice(Prefix.length);
        if (!isName(name)) continue;
        images.push({ name, bytes: Size, storedAt: LastModified?.getTime() ?? 0 });
      }
    }
    return images;
  }

  #object(name: string) {
    return { Bucket: this.#settings.bucket, Key: this.#settings.prefix + name };
  }
}

/** Until when a request is made. */
type GivenUp = { readonly abortSignal?: AbortSignal };

const givenUpWith = (signal: CallSignal | undefined): GivenUp =>
  signal ? { abortSignal: nativeSignal(signal) } : {};

/** Whose fault it is that an image is not stored: a fault of the settings is one of the gateway's. */
const codeOf = (cause: unknown): ErrorCode =>
  cause instanceof BucketError && cause.passing ? "unavailable" : "internal";

function unreadable(cause: unknown): never {
  throw new LintelError(codeOf(cause), "the image could not be read", { cause });
}

/** Nothing, for an object that is not there. */
function ifMissing(error: { readonly name?: string }): undefined {
  if (error.name !== "NotFound" && error.name !== "NoSuchKey") throw error;
}
