/** Addresses of images that their callers can't open. */
import { formatListen, isPublic } from "./quantities.js";
import type { BackendConfig, Config } from "./schema.js";

/** A line where images have addresses of this machine, and callers are on others. */
export function mediaWarnings(config: Config): string[] {
  const { listen, media, public_url, trust_proxy, backends } = config;
  const proxied = trust_proxy === true || (Array.isArray(trust_proxy) && trust_proxy.length > 0);
  const told = public_url !== undefined || proxied;
  const elsewhere = media.store === "s3" && media.s3?.address !== "gateway";
  if (told || elsewhere || media.delivery !== "url") return [];
  if (backends && !backends.some(mayMakeImages)) return [];
  const open = listen.filter(isPublic);
  // Callers of a socket are what stands before it: a proxy, as a rule.
  const where = open.length > 0 ? open : listen.every((each) => "path" in each) ? listen : [];
  if (where.length === 0) return [];
  return [
    `public_url is not set, and calls come to ${where.map(formatListen).join(", ")}: the addresses of images only lead here from this machine; set public_url, or trust_proxy behind a proxy, or media.delivery: data`,
  ];
}

/** Whether it may make images, as far as its entry says. */
export function mayMakeImages(backend: BackendConfig): boolean {
  if (backend.type === "llama") return false;
  if (backend.type === "ai-sdk") return backend.models.some(({ task }) => task === "image");
  if (backend.type !== "openai") return true;
  return backend.models === undefined || backend.image_models !== undefined;
}
