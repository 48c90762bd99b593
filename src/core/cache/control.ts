/** What callers say of the cache: `Cache-Control` of a request (RFC 9111, 5.2.1). */

/** What a caller takes. */
export interface CacheControl {
  /** The answer is neither taken from the cache nor kept in it. */
  readonly noStore: boolean;
  /** Oldest answer that is taken, seconds: 0 is none. */
  readonly maxAge: number;
}

const anything: CacheControl = { noStore: false, maxAge: Number.POSITIVE_INFINITY };

/** Reads the header. What it does not know, or is no directive, says nothing. */
export function cacheControlOf(header: string | undefined): CacheControl {
  if (header === undefined) return anything;
  let { noStore, maxAge } = anything;
  for (const directive of header.toLowerCase().split(",")) {
    const [name = "", value = ""] = directive.trim().split("=");
    if (name === "no-store") noStore = true;
    else if (name === "no-cache") maxAge = 0;
    else if (name === "max-age" && /^"?\d+"?$/.test(value)) {
      maxAge = Math.min(maxAge, Number(value.replaceAll('"', "")));
    }
  }
  return { noStore, maxAge };
}
