/** What model servers are told of who asks. */
import { version } from "../../version.js";

/** Some providers, and Cloudflare in front of others, refuse requests without one as if the key were wrong. */
export const userAgent = `lintel/${version()}`;
