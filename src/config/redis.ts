/** Where gateways keep what they share. */
import * as z from "zod";
import { usableCertificates } from "../certificates.js";
import type { RedisSettings } from "../state/redis/client.js";
import { clientTls } from "./fields.js";
import { wait } from "./quantities.js";

const message = "must be redis://host:port or rediss://host:port";

const ofSentinel = /^(redis[+-])?sentinels?:/i;

const isAddress = (text: string) => /^rediss?:\/\//.test(text) && URL.canParse(text);

/** An address. @param at where the section stands: other programs write all about Sentinel into one address */
const url = (at: string) =>
  z
    .string()
    .refine(isAddress, {
      error: ({ input }) =>
        ofSentinel.test(String(input))
          ? `must be redis://NAME, with the sentinels' addresses under ${at}.sentinels`
          : message,
    })
    .refine(isEscaped, { error: "has a % in its user or password that must be written %25" });

/** Whether the client can read user and password, where % begins an escape. */
function isEscaped(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password } = new URL(text);
  try {
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch {
    return false;
  }
}

const sentinel = (at: string) =>
  url(at).refine((text) => !isAddress(text) || /^\/?$/.test(new URL(text).pathname), {
    error: `${message}; the primary's name stands in ${at}.url`,
  });

/** What of their addresses has to be the same. */
const common = (text: string) => {
  const { protocol, username, password } = new URL(text);
  return `${protocol}${username}:${password}`;
};

/** As the names that sentinels take: there is no port, and the path is a number. */
const named = /^rediss?:\/\/([^@/?#]*@)?[\w.-]+(\/\d*)?$/;

/** How a store is reached. */
const connection = (at: string) => ({
  url: z
    .union([url(at), z.array(url(at)).min(1)], {
      error: `${message}, or a list of a cluster's nodes`,
    })
    .describe(
      "Address of Redis or Valkey, rediss:// for TLS; a list is some nodes of one cluster. User and password stand in it: redis://user:password@host:6379/0.",
    ),
  sentinels: z
    .array(sentinel(at))
    .min(1)
    .refine((all) => new Set(all.filter(isAddress).map(common)).size <= 1, {
      error: "must have one user and password, and all rediss:// or none",
    })
    .optional()
    .describe(
      "Addresses of Redis Sentinel, port 26379 where none is said. Then the host in url is the name by which they know the primary: redis://user:password@mymaster/0. Their own user and password stand in theirs.",
    ),
  key_prefix: z.string().default("lintel:").describe("What all keys begin with."),
  timeout: wait
    .prefault("250ms")
    .describe("Longest that a call waits for an answer; then the store counts as away."),
  tls: clientTls({}).optional().describe("Certificates for rediss://."),
});

/** What the addresses of a section say together. */
const agrees = ({ url, sentinels }: { url: string | string[]; sentinels?: unknown }) =>
  !sentinels || (typeof url === "string" && named.test(url));

const disagrees = {
  path: ["url"],
  error:
    "must be redis://NAME or rediss://NAME where there are sentinels, by the name under which they know the primary, without a port",
};

/** A store that nothing depends on. @param at where the section stands, for its errors */
export const redisConnection = (at: string) =>
  z.strictObject(connection(at)).refine(agrees, disagrees);

/** The store of what is counted. */
export const redisSchema = z
  .strictObject({
    ...connection("state.redis"),
    on_store_failure: z
      .enum(["open", "closed"])
      .default("open")
      .describe(
        "While it is away: each gateway counts for itself, or calls that would have to be counted are refused.",
      ),
    replicas: z
      .int()
      .min(1)
      .default(1)
      .describe(
        "Among how many gateways limits are divided while each counts for itself; the workers of each are counted in.",
      ),
  })
  .refine(agrees, disagrees);

/**
 * The connection's part of the configuration.
 * @param at where the section stands, for errors
 * @throws Error if a certificate or its key can't be used
 */
export function redisSettings(
  at: string,
  redis: z.output<ReturnType<typeof redisConnection>>,
): RedisSettings {
  const { ca, cert, key } = usableCertificates(`${at}.tls`, redis.tls ?? {});
  const files = { ca: ca?.toString(), cert: cert?.toString(), key: key?.toString() };
  return {
    url: redis.url,
    ...(redis.sentinels && { sentinels: redis.sentinels }),
    keyPrefix: redis.key_prefix,
    timeoutMs: redis.timeout,
    ...(redis.tls && { tls: files }),
  };
}
